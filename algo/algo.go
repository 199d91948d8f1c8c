// Package algo is the contract between an election algorithm and its host.
//
// An [Algorithm] is a pure, deterministic state machine: it holds no goroutine,
// clock, random number, lock or I/O. It is told what happened through its
// methods and says what it wants through the [Env] that each call receives. So the same
// algorithm runs over TCP, in virtual time, in an exhaustive search and in a lesson. Package
// driver joins the two, for hosts: it turns one event into effects, and enforces the contract.
//
// The source of each algorithm, what it promises and what it does not stand in
// the package of that algorithm.
package algo

import (
	"cmp"
	"time"
)

// Epoch numbers leaderships. Other names for it are term, ballot and view
// number. It grows with every new round of election and never goes back, also
// over crashes.
type Epoch uint64

// MaxEpoch is the highest epoch that a node accepts from others. No cluster gets there: at a million
// elections per second it takes 290,000 years.
const MaxEpoch Epoch = 1<<63 - 1

// Leader is one leadership: who leads, and in which epoch. A zero ID says that
// nobody is known to lead in that epoch: a vacancy.
type Leader struct {
	Epoch Epoch
	ID    NodeID
}

// Vacant reports whether l names nobody.
func (l Leader) Vacant() bool { return l.ID.IsZero() }

// Compare orders leaderships by epoch, then by ID: negative when l is older
// than o, zero when they are the same, positive when l is newer.
func (l Leader) Compare(o Leader) int {
	return cmp.Or(cmp.Compare(l.Epoch, o.Epoch), l.ID.Compare(o.ID))
}

// OlderThan reports whether l comes before o.
func (l Leader) OlderThan(o Leader) bool { return l.Compare(o) < 0 }

// Stable is what an algorithm keeps across a crash. It is comparable: the
// host compares it after each event and has it saved when it changed, so
// an algorithm can neither forget nor misorder a save.
type Stable struct {
	Epoch Epoch
	Vote  NodeID
	Extra string // what else an algorithm must keep, as UTF-8 of at most MaxExtra bytes
}

// MaxExtra is how many bytes of Stable.Extra a record has room for.
const MaxExtra = 4096

// Message is what algorithms send to each other: a struct from [Spec].Messages,
// by value, never changed after it was sent.
type Message interface {
	// Kind is the name of the message on the wire and in traces, the same for
	// every value of the type: lower case letters, digits, "-", "_" and "/".
	Kind() string
}

// Repeat is an envelope for a [Message] that says again what was said before, as a
// heartbeat does: env.Send(peer, algo.Repeat{m}). Hosts carry it like the message itself,
// but count it with the heartbeats and not with the messages of an election. The
// host of the receiver opens it: an algorithm cannot tell the two apart.
type Repeat struct{ Message }

// Open returns what is in an envelope, and whether there was one.
func Open(m Message) (inner Message, repeat bool) {
	if r, ok := m.(Repeat); ok {
		return r.Message, true
	}
	return m, false
}

// Timer names one of an algorithm's timers. It has a name and not a number so
// that traces read well and an algorithm can be wrapped by another.
type Timer string

// Env is how an algorithm acts. It is valid only during the call that received
// it. What is asked for is performed after that call, in this order: the save of
// a changed [Stable], timers, monitoring, sends, announcements. If the save
// fails the host performs none of the others.
type Env interface {
	// Send sends m, or a Repeat of it, to another member. It may be lost. Sending to
	// oneself, or a message that is not among Spec.Messages, panics.
	Send(to NodeID, m Message)

	// SetTimer arms t to expire once, at a moment within [min, max] from now that
	// the host picks. An armed timer is armed anew; a stale expiry never arrives.
	SetTimer(t Timer, min, max time.Duration)

	// StopTimer disarms t. Stopping a timer that is not armed is allowed.
	StopTimer(t Timer)

	// Monitor replaces the set of peers that the failure detector watches for this
	// algorithm. What heartbeats cost is decided here. A peer that was suspected
	// and is monitored no more is forgotten; monitored again, it is reported by
	// Suspect at once if the detector still knows it to be dead.
	Monitor(peers ...NodeID)

	// Announce says whom this node takes for leader, or a vacancy. Its epoch must
	// be covered by Stable when the call returns, and never go back.
	Announce(l Leader)

	// Note says why, for traces. It is formatted only when it is read; what is
	// passed must not change afterwards.
	Note(format string, args ...any)
}

// LeaseEnv is what a lease needs in addition. Each Env that a host passes is one.
type LeaseEnv interface {
	Env

	// SetDeadline is SetTimer for the end of what others have promised: t expires exactly d from now,
	// and before anything that the host takes in later than that, however late it is itself.
	SetDeadline(t Timer, d time.Duration)

	// Bound says that the leadership of this node ends with the deadline t. Its application is told:
	// the work ends then, even where the host hangs.
	Bound(t Timer)
}

// Miss notes that an election has waited in vain for a member, and why for that one: it "answered and does not
// lead". People are shown a member that is missed again and again.
func Miss(env Env, peer NodeID, what string) { env.Note(MissFormat, peer, what) }

// MissFormat is the format of the note that Miss makes: a driver tells it by that.
const MissFormat = "misses %s, which %s"

// Algorithm is an election algorithm. Its duties:
//
//   - It is deterministic: the same calls give the same effects. No clock,
//     randomness, map order, goroutine or I/O.
//   - It keeps no Env. Everything it must not forget is in Stable.
//   - It never sends itself a message and never names a leader in an epoch that
//     Stable does not cover.
//   - It takes part in no epoch up to that of the stamp of its view, except as or with the leader
//     of that epoch: given such a view, it raises its own epoch, in Stable.
//   - It tolerates messages that are late, doubled, out of order or from another
//     epoch; the host drops those of nodes that are not members.
//
// Calls come one at a time. Start is the first.
type Algorithm interface {
	// Start begins, at first or after a crash. saved is the last Stable that was
	// saved, the zero value at first.
	Start(env Env, view View, saved Stable)
	// Receive takes a message from another member of the view.
	Receive(env Env, from NodeID, m Message)
	// Expire is the end of a timer.
	Expire(env Env, t Timer)
	// Suspect says that the detector takes a monitored peer for dead. It may be
	// wrong.
	Suspect(env Env, peer NodeID)
	// Trust takes a Suspect back: the peer lives, or lives again. It says, too, that a peer which is
	// not monitored beats: it takes this node for one that follows it.
	Trust(env Env, peer NodeID)
	// Campaign calls for an election. Any process can.
	Campaign(env Env)
	// Reconfigure replaces the view. The node itself is in it.
	Reconfigure(env Env, view View)
	// Stable is what must survive a crash, as of now.
	Stable() Stable
	// Clone returns a copy that shares nothing that changes.
	Clone() Algorithm
}

// Lessee is an [Algorithm] whose leader leads only as long as others have promised.
type Lessee interface {
	Algorithm
	// Returned says that the work of the application has ended, after a leadership of this node has.
	Returned(env Env)
	// Died says that the process of a peer, monitored or not, has ended: its address refuses, or another process
	// answers there. It is as true as refusals are.
	Died(env Env, peer NodeID)
	// Backed reports whether this node leads and a majority of the view has promised it. Until then
	// who is a member does not change.
	Backed() bool
	// Ungranted is who has not promised it to this node, which is nominated while nobody leads that it knows of.
	Ungranted() (missing []NodeID, nominated bool)
}

// Claims are what an algorithm promises beyond the contract. The conformance
// suite checks each one that is made.
type Claims struct {
	// OneLeaderPerEpoch: no two nodes ever announce themselves for one epoch,
	// whatever the network does.
	OneLeaderPerEpoch bool
	// NeedsQuorum: nobody leads without a majority of the members, alive or not;
	// a leader that loses it stops.
	//
	// Which members these are is changed by the leader alone, one at a time. For that such
	// an algorithm has a duty more: it does not help to elect anybody whose view has an
	// older stamp than its own.
	NeedsQuorum bool
	// HighestLeads: once it is quiet, the highest live member leads, in the order
	// of View.
	HighestLeads bool
}

// Setting is one option in effect, as text, for logs, for replays and for comparison between nodes.
type Setting struct {
	Name, Value string
	Local       bool // the option concerns its node alone, and members may differ in it
}

// Spec describes an algorithm to a host.
type Spec struct {
	Name     string
	Claims   Claims
	Messages []Message // a zero value of each type that is ever sent
	Settings []Setting // the options in effect, sorted by name
	New      func(self NodeID) Algorithm
	// Textbook: the algorithm is its source to the letter, for lessons. What a source leaves
	// out it lacks, such as a crash during an election or a partition, so that no host runs it
	// among machines.
	Textbook bool
}

// Factory makes a [Spec] from options. It fills a struct of its own with
// defaults for the timing, has decode overwrite what the user configured, checks
// the result and says every mistake at once, each a [*SettingError].
//
// decode takes a pointer to that struct and refuses what the struct does not have. Its
// exported fields are the options: each a time.Duration, bool, string, integer, float64
// or []string, with a yaml tag, its name in lower case with underscores, and a help tag,
// a line that says what the option is for.
type Factory func(t Timing, decode func(options any) error) (Spec, error)

// Registry is the set of algorithms a host knows, by the word that selects them.
// It is an ordinary map; importing a package registers nothing.
type Registry map[string]Factory
