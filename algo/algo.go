// Package algo defines the contract between an election algorithm and its driver.
//
// An [Algorithm] is a pure, deterministic state machine, without goroutines, clocks, randomness,
// locks or I/O. The driver calls its methods to report events. The algorithm acts through the
// [Env] that it receives with each call. For example, when the driver calls Suspect with the
// leader, an algorithm may call Env.Send and Env.SetTimer to start an election. The same
// algorithm runs over TCP, in virtual time, in an exhaustive search and in a lesson. The Machine of
// package driver turns one event into effects, and enforces the contract for all of these drivers.
//
// The package of each algorithm documents its source, its guarantees and its non-guarantees.
package algo

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Epoch is the number of a leadership. Other texts call it term, ballot or view number. Each new
// election raises it. The epoch of a node never decreases, not even over a crash.
type Epoch uint64

// MaxEpoch is the highest epoch that a node accepts from its peers. No cluster reaches it by elections: a
// million elections per second would take 290,000 years.
const MaxEpoch Epoch = 1<<63 - 1

// Leader is one leadership: the leader and its epoch. If ID is zero, no leader is known in that
// epoch: a vacancy.
type Leader struct {
	Epoch Epoch
	ID    NodeID
}

// IsVacant reports whether l names no leader.
func (l Leader) IsVacant() bool { return l.ID.IsZero() }

// Compare orders leaderships by epoch, then by ID. It is negative if l is older than o, zero if
// they are equal, and positive if l is newer.
func (l Leader) Compare(o Leader) int {
	return cmp.Or(cmp.Compare(l.Epoch, o.Epoch), l.ID.Compare(o.ID))
}

// OlderThan reports whether l comes before o.
func (l Leader) OlderThan(o Leader) bool { return l.Compare(o) < 0 }

// HardState is the state of an algorithm that survives a crash. The driver compares it after each
// event and saves it if it has changed, so an algorithm can neither forget a save nor perform it
// too late.
type HardState struct {
	Epoch Epoch
	Vote  NodeID
	Extra string // additional state, as UTF-8 of at most MaxExtra bytes
}

// MaxExtra is the maximum length of HardState.Extra in bytes.
const MaxExtra = 4096

// Message is a message between algorithms: a struct from [Spec].Messages, by value. It must not
// change after it was sent.
type Message interface {
	// Kind is the name of the message on the wire and in traces, the same for
	// every value of the type: lower case letters, digits, "-", "_" and "/".
	Kind() string
}

// Periodic marks a [Message] as periodic, like a heartbeat: env.Send(peer, algo.Periodic{m}). Drivers
// send it like m, but count it with the heartbeats instead of the messages of an election. The
// driver of the receiver removes the mark, so an algorithm cannot distinguish the two.
type Periodic struct{ Message }

// Unwrap returns the message without the mark of [Periodic], and whether it had one.
func Unwrap(m Message) (inner Message, repeat bool) {
	if r, ok := m.(Periodic); ok {
		return r.Message, true
	}
	return m, false
}

// Timer is the name of one of an algorithm's timers. Names make traces readable, and let an
// algorithm wrap another.
type Timer string

// Env is the interface through which an algorithm acts. It is valid only during the call that
// received it. The driver performs the requested effects after the call, in this order: saving a
// changed [HardState], timers, monitoring, sends, announcements. If the save fails, the driver
// performs none of the others.
type Env interface {
	// Send sends m, or a Periodic of it, to another member. It may be lost. Sending to the node
	// itself, or a message that is not in Spec.Messages, panics.
	Send(to NodeID, m Message)

	// SetTimer arms t to expire once, after a time that the driver chooses within [min, max]. If
	// t is armed, its earlier expiry does not arrive.
	SetTimer(t Timer, min, max time.Duration)

	// StopTimer stops t. Stopping a timer that is not armed is allowed.
	StopTimer(t Timer)

	// Monitor replaces the set of peers that the failure detector monitors for this algorithm.
	// This set determines the cost of heartbeats. The suspicion of a peer that is no longer
	// monitored is forgotten. If the peer is monitored again and the detector still suspects it,
	// Suspect reports it immediately. So an algorithm that answers each suspicion by monitoring
	// another suspected peer, without end, violates the contract.
	Monitor(peers ...NodeID)

	// Announce announces the leader that this node follows, this node itself, or a vacancy. The
	// epoch must be covered by HardState when the call returns, and must never decrease.
	Announce(l Leader)

	// Note explains the current event in traces. It is formatted only when it is read, so its
	// arguments must not change afterwards.
	Note(format string, args ...any)
}

// LeaseEnv contains additional methods for a lease. Each Env of a driver implements it.
type LeaseEnv interface {
	Env

	// SetDeadline arms t, like SetTimer, for the end of a grant. It expires exactly d from now,
	// and before each event that the driver receives later than that, even if the driver is late.
	SetDeadline(t Timer, d time.Duration)

	// LeadUntil ends the leadership of this node with the deadline t. The driver passes this to the
	// application, and the work of the application ends then even if the driver hangs.
	LeadUntil(t Timer)
}

// ReportUnresponsive reports that an election waited without success for a member, and why it waited for that
// member, for example "answered but did not become leader". A member that is reported repeatedly is shown
// to operators.
func ReportUnresponsive(env Env, peer NodeID, what string) { env.Note(UnresponsiveFormat, peer, what) }

// UnresponsiveFormat is the format of the note of ReportUnresponsive. Drivers recognize the note by it.
const UnresponsiveFormat = "misses %s, which %s"

// Algorithm is an election algorithm. It must meet these requirements:
//
//   - It is deterministic: the same calls have the same effects. It uses no clock, randomness,
//     map order, goroutine or I/O.
//   - It does not store an Env. All state that it must not forget is in HardState.
//   - It never sends a message to itself, and never announces a leader in an epoch that HardState
//     does not cover. It announces another node only after that node has announced itself in that
//     epoch, which a message reports.
//   - It takes part in no epoch up to the config term of its view, except as the leader of
//     that epoch or as its follower. When it receives such a view, it raises its epoch in HardState.
//   - It tolerates messages that are late, duplicated, out of order or from another epoch. The
//     driver drops messages of non-members.
//
// Calls are sequential. Start is the first.
type Algorithm interface {
	// Start starts the algorithm, for the first time or after a crash. saved is the last saved
	// HardState, or the zero value at the first start.
	Start(env Env, view View, saved HardState)
	// Receive handles a message from another member of the view.
	Receive(env Env, from NodeID, m Message)
	// Expire handles the end of a timer.
	Expire(env Env, t Timer)
	// Suspect reports that the failure detector suspects a monitored peer. The suspicion may be
	// false.
	Suspect(env Env, peer NodeID)
	// Trust reports the end of a suspicion: the peer is alive. It also reports a heartbeat of a
	// peer that is not monitored. That peer considers this node its follower.
	Trust(env Env, peer NodeID)
	// Campaign starts an election, on request of the application. The driver may call it on any node, also
	// on the leader.
	Campaign(env Env)
	// Reconfigure replaces the view. The node itself is in the new view.
	Reconfigure(env Env, view View)
	// HardState returns the current state that must survive a crash.
	HardState() HardState
	// Clone returns a copy that shares no mutable state with the original.
	Clone() Algorithm
}

// LeaseHolder is an [Algorithm] with a leader that needs grants from other members.
type LeaseHolder interface {
	Algorithm
	// WorkReturned reports that the work of the application has ended, after the end of a leadership
	// of this node.
	WorkReturned(env Env)
	// DrainEnded reports that the driver waits no longer for the work: it has waited for the drain
	// timeout before it ended the leadership of this node. So the holder does not wait for the work
	// again. It stops renewing, and the lease expires.
	DrainEnded(env Env)
	// PeerDied reports that the process of a peer has ended: its address refuses connections, or
	// another process answers there. The peer need not be monitored. The report is only as
	// reliable as the refusal. If ended is not zero, it is proven that the process has ended, and
	// that no Lead callback of its leaderships up to that epoch runs.
	PeerDied(env Env, peer NodeID, ended Epoch)
	// HoldsLease reports whether this node leads and a majority of the view has granted its lease.
	// Until then, the members must not change.
	HoldsLease() bool
	// PendingGrants returns the members that have not granted the lease to this node, and whether
	// this node is the nominee while it knows of no leader.
	PendingGrants() (missing []NodeID, nominated bool)
}

// Claims are guarantees of an algorithm beyond the contract. The conformance suite (package algotest)
// checks each claim.
type Claims struct {
	// OneLeaderPerEpoch: no two nodes ever announce themselves in the same epoch, whatever the
	// network does.
	OneLeaderPerEpoch bool
	// NeedsQuorum: no node leads without a majority of all members, including crashed ones. A
	// leader that loses the majority stops.
	//
	// Only the leader changes the members, one at a time. Such an algorithm has an additional
	// duty: it must not help to elect a node that has a view with an older config ID than its own.
	NeedsQuorum bool
	// HighestLeads: once no faults occur, the highest live member leads, in the order of View.
	HighestLeads bool
}

// Setting is the value of one option as text, for logs, for replays and for comparison between
// nodes.
type Setting struct {
	Name, Value string
	Local       bool // members may differ in the option
}

// Spec describes an algorithm to a driver.
type Spec struct {
	Name     string
	Claims   Claims
	Messages []Message // a zero value of each message type
	Settings []Setting // the options, sorted by name
	New      func(self NodeID) Algorithm
	// Textbook is set if the algorithm follows its source exactly, for lessons. It cannot handle
	// the cases that the source omits, such as a crash during an election or a partition. No
	// driver runs it on a network.
	Textbook bool
}

// Factory creates a [Spec] from options. It fills a struct with defaults for the timing, calls
// decode, unless it is nil, to overwrite the configured options, and checks the result. Its error
// reports every invalid option, each as a [*SettingError]. With an error, the Spec may still have
// its name and its claims, so that a driver can check the other settings.
//
// decode receives a pointer to that struct and rejects options that the struct does not have. The
// exported fields of the struct are the options. Each is a time.Duration, bool, string, integer,
// float64 or []string. Its yaml tag is its name, in lower case with underscores. Its help tag
// describes it in one line.
type Factory func(t Timing, decode func(options any) error) (Spec, error)

// With returns a factory with other defaults: change modifies the options of f before decode does.
// O is the struct of the options of f. The packages of algorithms have a function With of their
// own, for their options.
func With[O any](f Factory, change func(*O)) Factory {
	return func(t Timing, decode func(any) error) (Spec, error) {
		return f(t, func(options any) error {
			o, ok := options.(*O)
			if !ok {
				return errors.New("algo: With changes the options of another algorithm")
			}
			change(o)
			if decode == nil {
				return nil
			}
			return decode(options)
		})
	}
}

// Registry contains the algorithms that a driver knows, by the names that select them. It is an
// ordinary map: importing a package registers nothing.
type Registry map[string]Factory

// Lookup returns the factory that word selects. For an unknown word, it returns a factory that
// fails with a [*SettingError] of the known words.
func (r Registry) Lookup(word string) Factory {
	if f, ok := r[word]; ok {
		return f
	}
	known := strings.Join(slices.Sorted(maps.Keys(r)), ", ")
	return func(Timing, func(any) error) (Spec, error) {
		return Spec{}, &SettingError{Field: "algorithm", Got: strconv.Quote(word), Want: "one of " + known}
	}
}
