package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/confload"
)

func (p *program) newStatus() *cobra.Command {
	o := statusCommand{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "status [ADDR…]",
		Short: "Ask any member for the leader",
		Long: `Ask the member at ADDR for its leader, its members, and its counters since its start.
Each member answers for itself: two may differ for a while. Without ADDR, the member is
that of the configuration on this machine (--config, or ELECT_CONFIG).

With several addresses, or --all, each member has a line, and the differences between their
answers follow. --all also asks the members that the first answer names.

The exit status is 1 if no member answered, or if the answers name different leaders.

The state of a member is "self", "alive" or "suspected" (the asked member monitors it, or has
evidence), "indirect" (the asked member does not hear its leader, but other members do),
"connected" (it is not monitored, but connected) or "unknown". The algorithm decides which
members a member monitors.

TIMEOUT is the silence after which the asked member suspects the member, while it monitors
it: the timeout of its timing, or a longer one after a false suspicion.

The election is the last one that the asked member knows of: its caller, its time, and its
reason. The reason is one word. A suspicion: silence, refused (the address refuses
connections), goodbye or restart. "start". "campaign" (a program requested it).
"reconfigure" (the leader may not lead any more). "expire" (the leader, or a quorum, did not
answer in time). "trust". Or "receive": the caller announced the election, or its own
leadership; the status of the caller has the reason.

A witness votes and never leads. A member on standby does not lead for a while, because it
resigned. A learner is a connected node that wants to join and is not a member yet. A dead
member stays one, and counts for the quorum, until it is removed (see elect remove).

With the lease or vote, a config has the ID TERM.VERSION: the term is the epoch of the leader
that wrote it, and the version grows with each config. A config is committed when a quorum is
known to hold it. With bully or ring and --lease=off, the version counts the changes that this
process has seen. A pending change is not done yet. The leader lists those that it has
written, each member the requested removals.

Metadata comes from the configuration of each member (meta:), such as the address of its
service. An answer has at most 64 KiB. If that is not enough, it omits metadata, then members
that are not reached yet, then members, and says how many. It omits the last of each, but
never the leader.

With a lease, the status of the leader has the time until the lease expires if it is not
renewed. The status of a nominee has the members that have not granted it the lease.

An undiscovered member, which members: or join: names, is listed by its address, with the
outcome of the last attempt to reach it. While no leader is known, so is each member that
did not answer in elections, with the number of those elections.

With --json and one address, one object. A field with a ? is absent without a value:

  cluster, algorithm    strings
  node                  id of the member that answered
  leader                id, or null
  leader_name?, leader_addr?, leader_meta?
                        two strings and an object; absent without a leader
  epoch                 number
  config_term           number; 0 before the first leader has written a config
  config_version        number
  committed             boolean
  members               list of objects: id, name, addr, priority, eligible, state, since,
                        timeout_ns? (if monitored), meta? (object), standby?
  learners?             list of objects: id, name, addr; at most 16
  pending?              list of objects: what ("add" or "remove"), id, name, reason; at most 16
  pending_contacts      list of objects: addr, answer
  other_lists?          names of connected members with a different list of members
  lease?                object, with a lease: token (of the leader, or 0), remaining_ns? (on the
                        leader), nominated?, pending_grants? (names)
  election?             object: caller (id), reason, previous? (id of the previous leader),
                        epoch (of that leader), silent_for_ns?
  election_at?          time of that election
  certificate_end?      time at which the certificate of the node ends, or one that signed it
  warnings?             list of objects, of the last ten minutes, latest first: text, at, count
  counters              object of numbers by name
  meta_omitted?, members_omitted?, pending_contacts_omitted?
                        numbers of members without meta, of members and of contacts for which
                        the answer has no room

Without an answer, the object is: addr, reason. With several addresses or --all, one object:
answers (a list of objects: addr, and status, the object above, or reason) and differ (a list
of sentences, empty if there is no difference).

` + accessText,
		Example: `  elect status 10.0.0.1:7400
  elect status --config /etc/elect.yaml --all
  elect status 10.0.0.1:7400 --json | jq -r .leader_addr`,
		Args: o.parse,
		RunE: o.run,
	}
	cmd.Flags().StringVar(&o.addr, "addr", "", "`host:port` of the member, if it is not the last argument")
	cmd.Flags().BoolVar(&o.all, "all", false, "ask all members, and show in what their answers differ")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Second, "how long to wait for the answer")
	o.access.register(cmd.Flags())
	return cmd
}

// statusCommand requests the status from one or more members.
type statusCommand struct {
	access
	addr    string
	addrs   []string
	all     bool
	json    bool
	timeout time.Duration
}

// parse takes the addresses from the command line, otherwise the one from the configuration.
func (o *statusCommand) parse(cmd *cobra.Command, args []string) error {
	if o.addr != "" {
		args = append(args, o.addr)
	}
	var err error
	o.addrs, err = o.addresses(cmd.Name(), args, func(*confload.Settings) []string { return nil })
	if err != nil {
		return err
	}
	if o.timeout <= 0 {
		return usagef("--timeout is %v, want more than 0", o.timeout)
	}
	return nil
}

func (o *statusCommand) run(cmd *cobra.Command, _ []string) error {
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), o.timeout, fmt.Errorf("no answer within %v", o.timeout))
	defer cancel()
	client, err := o.client()
	if err != nil {
		return err
	}
	if o.all || len(o.addrs) > 1 {
		return o.runMany(ctx, cmd.OutOrStdout(), client)
	}
	answer := queryStatus(ctx, client, o.addrs[0])
	if o.json {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(answer.object())
	} else if answer.Status != nil {
		err = printStatus(cmd.OutOrStdout(), answer.Status.Status, time.Now())
	}
	switch {
	case err != nil:
		return err
	case answer.Status == nil:
		return errors.New(answer.Reason)
	case answer.Status.Leader == nil:
		return errors.New("no leader is known")
	}
	return nil
}

// printStatus prints a status as text. The members are in the order of their names.
func printStatus(w io.Writer, s cluster.Status, now time.Time) error {
	names := make(map[string]string) // by id
	members := slices.SortedFunc(slices.Values(s.Members), func(a, b cluster.Member) int {
		return strings.Compare(a.Name, b.Name)
	})
	for _, m := range members {
		names[m.ID.String()] = m.Name
	}
	name := func(id string) string {
		if n := names[id]; n != "" {
			return n
		}
		return id
	}
	leader := "no leader is known"
	if s.Leader != nil {
		leader = name(s.Leader.String())
	}
	fmt.Fprintf(w, "leader     %s in epoch %d\n", leader, s.Epoch)
	fmt.Fprintf(w, "cluster    %s, algorithm %s, config %s\n", s.Cluster, s.Algorithm, configIDOf(s))
	fmt.Fprintf(w, "asked      %s\n", name(s.Node.String()))
	if s.Lease != nil {
		fmt.Fprintf(w, "lease      %s\n", leaseOf(s))
	}
	if !s.CertificateEnd.IsZero() {
		fmt.Fprintf(w, "identity   certificate until %s\n", endOf(s.CertificateEnd, now))
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "warning    %s (%s", warning.Text, ago(now.Sub(warning.At)))
		if warning.Count > 1 {
			fmt.Fprintf(w, ", %d times", warning.Count)
		}
		fmt.Fprintln(w, ")")
	}
	for _, c := range s.Pending {
		fmt.Fprintf(w, "pending    %s %s: %s\n", c.What, c.Name, c.Reason)
	}
	if len(s.OtherLists) > 0 {
		fmt.Fprintf(w, "lists      another list of members at %s\n", strings.Join(s.OtherLists, ", "))
	}
	if c := s.Election; c.Reason != "" {
		fmt.Fprintf(w, "election   called by %s %s: %s", name(c.Caller.String()), ago(now.Sub(s.ElectionAt)), c.Reason)
		if c.SilentFor > 0 {
			fmt.Fprintf(w, " for %v", c.SilentFor)
		}
		if !c.Previous.IsZero() {
			fmt.Fprintf(w, ", when %s led in epoch %d", name(c.Previous.String()), c.Epoch)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MEMBER\tROLE\tSTATE\tSINCE\tTIMEOUT\tPRIORITY\tADDRESS\tID")
	for _, m := range members {
		role := "follower"
		switch {
		case s.Leader != nil && *s.Leader == m.ID:
			role = "leader"
		case m.Standby:
			role = "standby"
		case !m.Eligible:
			role = "witness"
		}
		timeout := "-"
		if m.Timeout > 0 {
			timeout = m.Timeout.Round(time.Millisecond).String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			m.Name, role, m.State, ago(now.Sub(m.Since)), timeout, m.Priority, m.Addr, m.ID)
	}
	for _, l := range s.Learners {
		fmt.Fprintf(table, "%s\tlearner\tconnected\t-\t-\t-\t%s\t%s\n", l.Name, l.Addr, l.ID)
	}
	if s.MembersOmitted > 0 {
		fmt.Fprintf(table, "and %d more, for which the answer has no room\n", s.MembersOmitted)
	}
	if slices.ContainsFunc(members, func(m cluster.Member) bool { return len(m.Meta) > 0 }) {
		fmt.Fprintln(table, "\nMEMBER\tMETADATA")
	}
	for _, m := range members {
		for _, key := range slices.Sorted(maps.Keys(m.Meta)) {
			fmt.Fprintf(table, "%s\t%s=%s\n", m.Name, key, m.Meta[key])
		}
	}
	if s.MetaOmitted > 0 {
		fmt.Fprintf(table, "and of %d more: ask them for theirs\n", s.MetaOmitted)
	}
	if len(s.PendingContacts) > 0 {
		fmt.Fprintln(table, "\nAWAITED\tADDRESS\tANSWER")
	}
	for _, a := range s.PendingContacts {
		what := "not met"
		if slices.ContainsFunc(members, func(m cluster.Member) bool { return m.Addr == a.Addr }) {
			what = "met"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", what, a.Addr, a.Answer)
	}
	if s.PendingContactsOmitted > 0 {
		fmt.Fprintf(table, "and %d more, for which the answer has no room\n", s.PendingContactsOmitted)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	counters := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(counters, "COUNTER\tSINCE ITS START")
	for _, key := range slices.Sorted(maps.Keys(s.Counters)) {
		fmt.Fprintf(counters, "%s\t%d\n", key, s.Counters[key])
	}
	return counters.Flush()
}

// leaseOf formats the state of the lease.
func leaseOf(s cluster.Status) string {
	switch l, all := s.Lease, len(s.Members)+s.MembersOmitted; {
	case l.Nominated:
		return fmt.Sprintf("nominated, granted by %d of %d, missing %s", all-len(l.PendingGrants), all, strings.Join(l.PendingGrants, ", "))
	case l.Remaining > 0:
		return fmt.Sprintf("token %d, %v left unless renewed", l.Token, l.Remaining.Round(time.Millisecond))
	case l.Token > 0:
		return fmt.Sprintf("token %d, held by the leader", l.Token)
	}
	return "no holder is known"
}

// endOf formats the end of a certificate.
func endOf(end, now time.Time) string {
	text := end.UTC().Format(time.RFC3339)
	switch left := end.Sub(now); {
	case left <= 0:
		return text + ", which is over"
	case left < 48*time.Hour:
		return text + fmt.Sprintf(", %d h left", int(left.Hours()))
	default:
		return text + fmt.Sprintf(", %d days left", int(left.Hours()/24))
	}
}

// configIDOf formats the ID of the config.
func configIDOf(s cluster.Status) string {
	number := strconv.FormatUint(s.ConfigVersion, 10)
	if s.ConfigTerm > 0 {
		number = fmt.Sprintf("%d.%d", s.ConfigTerm, s.ConfigVersion)
	}
	if !s.Committed {
		number += " (not committed)"
	}
	return number
}

// ago formats a time that has passed.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
