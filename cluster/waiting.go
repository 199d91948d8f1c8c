package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

// This file describes which contacts a node waits for.

const (
	waitLogInterval   = 5 * time.Second // between two logs of a node that waits
	maxContactsLogged = 20              // in one log line
	unresponsiveLimit = 3               // elections without a reply of a member, after which it is logged at once
	maxAnswer         = 128             // bytes of PendingContact.Answer, as in the tag of wire.StatusContact
)

// PendingContact is an address of Config.Join or Config.Members at which no member is known, or the address of a member
// that did not respond in elections. A name with several addresses has one for each.
type PendingContact struct {
	Addr string `json:"addr"`
	// Answer is the result of the last attempt to reach it, such as "connection refused", "no such host" or "n2
	// answers, and is in no cluster either". For a name it starts with the address. For a member it is what an election
	// missed, such as "misses n5, which answered but did not become leader (elections: 3)".
	Answer string `json:"answer"`
}

// pendingContacts returns the contacts of the settings that lead to no member. It runs on the loop.
func (n *Node) pendingContacts() []PendingContact {
	all := []PendingContact{}
	for _, s := range n.engine.Undiscovered() {
		answer := cmp.Or(n.dialResults[s.Addr], "no answer yet")
		_, connected := n.peers[s.Peer]
		switch {
		case s.State == membership.SeedRejected:
			answer = "a node answers, and its list of members does not name this node"
		case s.InCluster:
			answer = n.displayName(s.Peer) + " answers, and has not added this node"
		case connected:
			answer = n.displayName(s.Peer) + " answers, and is in no cluster either"
		}
		if s.Addr != s.Name {
			answer = s.Addr + ": " + answer
		}
		all = append(all, PendingContact{Addr: s.Name, Answer: untrusted.Truncate(answer, maxAnswer)})
	}
	return all
}

// dialResult returns the reason of a failed dial, in few words.
func dialResult(why error) string {
	text := why.Error()
	if dns, ok := errors.AsType[*net.DNSError](why); ok {
		text = dns.Err
	} else if mismatch, ok := errors.AsType[*wire.MismatchError](why); ok && mismatch.What == wire.Lists {
		text = "it has another list of members: " + mismatch.Theirs
	} else {
		switch transport.Cause(why) {
		case transport.ConnRefused:
			text = "connection refused"
		case transport.Timeout:
			text = "no answer in time"
		case transport.Self:
			text = "this node itself"
		}
	}
	return untrusted.Printable(strings.TrimPrefix(text, "transport: "))
}

// unresponsiveMembers returns the members that did not respond in elections since there was a leader, and the highest
// number of these elections for one member. It runs on the loop.
func (n *Node) unresponsiveMembers() (all []PendingContact, most uint64) {
	for m := range n.engine.View().All() {
		if last, count := n.engine.Unresponsive(m.ID); count > 0 {
			answer := fmt.Sprintf("%s (elections: %d)", last.Describe(n.displayName), count)
			all = append(all, PendingContact{Addr: m.Addr, Answer: untrusted.Truncate(answer, maxAnswer)})
			most = max(most, count)
		}
	}
	return all, most
}

// logWaiting logs what this node waits for, if it has waited for long enough.
func (n *Node) logWaiting() {
	since, vacant, alone := n.engine.Vacancy()
	if !vacant {
		n.nextWaitLog = 0
		return
	}
	now, delay := n.now(), n.config.Timing.RecoveryBound()
	all, most := n.unresponsiveMembers()
	if alone {
		delay = waitLogInterval
	} else if most >= unresponsiveLimit {
		delay = 0
	}
	n.nextWaitLog = max(n.lastWaitLog+waitLogInterval, since+delay)
	if now < n.nextWaitLog {
		return
	}
	n.lastWaitLog, n.nextWaitLog = now, now+waitLogInterval
	why := "no member has added it"
	switch _, runs := n.engine.Leader(); {
	case runs && alone:
		why = "it is connected to no other member" + n.noLeaderReason()
	case runs:
		why = fmt.Sprintf("no leader for %v%s", (now - since).Round(time.Second), n.noLeaderReason())
	case len(n.config.Members) > 0 && n.spec.Claims.NeedsQuorum && n.engine.Cluster().IsZero():
		why = fmt.Sprintf("the cluster bootstraps when all members of the list have answered, and %d of %d have: start the others, "+
			"or replace them in all lists", n.countAnswered(), len(n.config.Members))
	case len(n.config.Members) > 0:
		why = fmt.Sprintf("it has met %d of %d members", n.countAnswered(), len(n.config.Members))
	case n.config.Bootstrap:
		why += ", and it bootstraps a cluster only when no address is silent"
	}
	var answers []string
	all = append(all, n.pendingContacts()...)
	for _, a := range all[:min(len(all), maxContactsLogged)] {
		answers = append(answers, a.Addr+": "+a.Answer)
	}
	if more := len(all) - len(answers); more > 0 {
		answers = append(answers, fmt.Sprintf("and %d more", more))
	}
	about := []any{"why", why}
	if len(answers) > 0 {
		about = append(about, "answers", strings.Join(answers, "; "))
	}
	n.log.Warn("waiting for members", about...)
}

// countAnswered returns how many nodes of the list this node is connected to, itself included.
func (n *Node) countAnswered() int {
	missing := 0
	for _, s := range n.engine.Undiscovered() {
		if _, connected := n.peers[s.Peer]; !connected {
			missing++
		}
	}
	return max(1, len(n.config.Members)-missing)
}

// noLeaderReason returns in parentheses why there is no leader; empty if this node does not know.
func (n *Node) noLeaderReason() string {
	view := n.engine.View()
	switch heard := len(n.namesInState(fd.Alive)); {
	case !slices.ContainsFunc(slices.Collect(view.All()), func(m algo.Member) bool { return m.Eligible }):
		return " (all eligible members have resigned)" // bully with a lease monitors no member then
	case n.spec.Claims.NeedsQuorum && heard < view.Quorum():
		return fmt.Sprintf(" (this node hears from %d of %d members, and %d are needed: if the others are lost for good see elect recover)",
			heard, view.Len(), view.Quorum())
	}
	return ""
}
