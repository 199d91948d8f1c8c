package membership

import (
	"math"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

const never = time.Duration(math.MaxInt64)

// Env is the host of a Machine. What is asked of it may be done at once or later, in order,
// and after what is Unsaved is saved.
type Env interface {
	// Send sends a message to a member, or to who is connected.
	Send(to algo.NodeID, m algo.Message)
	// Show says something to a member that carries the Digest.
	Show(to algo.NodeID)
	// Dial makes one attempt to connect; with a zero ID, to whoever is there.
	Dial(id algo.NodeID, addr string)
	// Refuse closes the connection of who has sent a message that is none.
	Refuse(peer algo.NodeID, m algo.Message, why error)
	// Leader is whom the algorithm of this node follows, as long as it runs, and the highest
	// epoch that it has taken part in.
	Leader() (leader algo.Leader, running bool, taken algo.Epoch)
	// Suspected reports whether a member is taken for dead, and since when.
	Suspected(id algo.NodeID) (suspected bool, since time.Duration)
	// Backed reports whether who leads may change who is a member: it has been promised that by enough
	// of those who are.
	Backed() bool
	// Widen has the algorithm believe epochs further ahead.
	Widen()
}

// Place is how a node comes into the membership, and leaves it.
type Place struct {
	// Self is this node as it should stand in the roster.
	Self algo.Member
	// Cluster is the ID of the cluster if this node founds one, or if Fixed is set.
	Cluster algo.NodeID
	// Seeds are addresses of members that may let this node in, Fixed those of all members,
	// this node's own included.
	Seeds, Fixed []string
	// Bootstrap has this node found a cluster if all Seeds answer that they are in none.
	Bootstrap bool
	// ForgetAfter is how long the leader suspects a member until it strikes it; 0 for never. Where a
	// majority is needed nobody is.
	ForgetAfter time.Duration
	// Unconnected is for a host without connections, such as a simulation: nobody says hello, and a
	// restart waits for nobody.
	Unconnected bool
}

// Config is what a Machine is made of.
type Config struct {
	Place
	// Quorum is the claim of the algorithm to need a majority.
	Quorum bool
	// FirstContact is for how long a node without a quorum waits at its start to hear from
	// others, if they neither answer nor refuse.
	FirstContact time.Duration
	// Repeat is how often who has resigned says so.
	Repeat time.Duration
	// Patience is how long an order waits for a leader, where no majority is needed, and where one
	// is a leader for a newcomer that lives to hold the roster: more than an election takes.
	Patience time.Duration
}

// End says that this node must stop.
type End struct {
	// Rejected is why it is not let in.
	Rejected error
	// Removed says that it is no member any more; Left, that it asked for that.
	Removed, Left bool
}

// Machine is the membership as one node knows it. It is not safe for concurrent use. The
// times that it is told are the host's, and do not go back.
type Machine struct {
	config Config
	env    Env

	roster  Known     // in force here
	view    algo.View // of it, with those who stand aside
	unsaved bool
	end     End

	links   map[algo.NodeID]link // of those connected
	told    map[algo.NodeID]told
	repays  time.Duration // when the first of them is to be told another roster
	settled bool          // everybody knows this roster, and this node

	contacts []contact
	first    firstContact
	asked    map[algo.NodeID]bool // to be let in
	outside  map[algo.NodeID]bool // who is connected and has a roster that this node is not in
	doom     doom

	wishes wishes
	owed   []algo.NodeID // strikes to be found in a later roster
	unowed bool          // owed or change is another one since it was saved

	resigned time.Duration         // until when; never when it did not resign
	standAt  time.Duration         // when to say so again
	stood    map[algo.NodeID]stood // what was heard of that
	stands   uint64                // that this node has said

	holders map[algo.NodeID]bool // of the roster, where this node made it
	change  Change               // the last of who is a member that this node has made
	guest   bool                 // it has let in the first beside its founder
	until   time.Duration        // when whom it lets in must hold the roster, or is watched no more
	queue   []Propose            // changes that wait for their turn
	hearing time.Duration

	vacant  time.Duration // since when no leader is known; never when one is
	over    algo.Epoch    // up to which a member has shown rosters that this node did not take over
	horizon algo.Horizon
	numbers algo.Horizon                  // of rosters of one epoch, as if they were epochs
	doubted map[algo.NodeID]time.Duration // when a member last moved it
}

// link is a connection.
type link struct {
	cluster bool          // it has shown that it is in one
	asked   time.Duration // to be let in, the last time; long ago if never
	founds  bool          // it may found a cluster itself
}

// New returns a machine that goes on from the records that were saved, if any.
func New(config Config, env Env, saved ...algo.Message) *Machine {
	config.Repeat = max(config.Repeat, pause)
	m := &Machine{
		config: config, env: env, resigned: never, standAt: never, hearing: never, repays: never,
		links: make(map[algo.NodeID]link), told: make(map[algo.NodeID]told), asked: make(map[algo.NodeID]bool),
		stood: make(map[algo.NodeID]stood), doubted: make(map[algo.NodeID]time.Duration),
		outside: make(map[algo.NodeID]bool), holders: make(map[algo.NodeID]bool), wishes: wishes{again: never},
	}
	known, owed := recall(saved)
	m.roster, m.view, m.settled = known, known.view, true
	m.owed, m.change = owed.Strikes, owed.Change
	return m
}

// recall finds in the records what they keep of the membership.
func recall(saved []algo.Message) (known Known, owed Owed) {
	for _, record := range saved {
		switch record := record.(type) {
		case Roster:
			known = Know(record)
		case Known:
			known = record
		case Owed:
			owed = record
		}
	}
	return known, owed
}

// View is the membership for the algorithm: the roster, in which who has resigned is not
// eligible for now.
func (m *Machine) View() algo.View { return m.view }

// Roster is the membership as it is now. It must not be changed.
func (m *Machine) Roster() Roster { return m.roster.Roster }

// Cluster is the ID of the cluster, zero until this node is in it.
func (m *Machine) Cluster() algo.NodeID { return m.roster.Cluster }

// Digest stands for the roster; 0 without one.
func (m *Machine) Digest() uint64 { return m.roster.digest }

// Confirmed reports whether the roster stands: see Roster. So does that of a fixed set before a
// leader has made one.
func (m *Machine) Confirmed() bool {
	return m.roster.Confirmed || !m.config.Quorum || m.roster.Epoch == 0
}

// End says whether this node must stop.
func (m *Machine) End() End { return m.end }

// Unsaved returns the records that have changed since the last call.
func (m *Machine) Unsaved() (records []algo.Message) {
	if m.unsaved {
		records = append(records, m.roster.Roster)
	}
	if m.unowed {
		records = append(records, Owed{slices.Clone(m.owed), m.change})
	}
	m.unsaved, m.unowed = false, false
	return records
}

func (m *Machine) self() algo.NodeID { return m.config.Self.ID }

// joining reports whether no member has let this node in yet.
func (m *Machine) joining() bool { return m.roster.Cluster.IsZero() }

// Receive takes a message, and reports whether it did: it is one of the membership, and what its sender may
// say.
func (m *Machine) Receive(now time.Duration, from algo.NodeID, said algo.Message) bool {
	switch said := said.(type) {
	case Join:
		if l, connected := m.links[from]; connected {
			l.asked, l.founds = now, said.Founds
			m.links[from] = l
		}
		m.admit(now, from, said.Entry)
		return true
	case Roster:
		if l, connected := m.links[from]; connected {
			l.cluster, l.asked = true, -2*fresh
			m.links[from] = l
		}
		m.meet(now, from, said)
		return true
	case Reject:
		m.rejected(from, said)
		return true
	}
	if !m.view.Contains(from) {
		return false
	}
	switch said := said.(type) {
	case Propose:
		m.consider(now, from, said)
	case Held:
		m.held(now, from, said)
	case Stand:
		m.heed(now, from, said)
	default:
		return false
	}
	return true
}

// Up says that a connection to a peer stands: as which incarnation, the digest of its roster, and
// the address if this node dialled it.
func (m *Machine) Up(now time.Duration, peer algo.NodeID, incarnation, digest uint64, addr string) {
	m.Answered(addr, Pending, peer)
	m.links[peer] = link{cluster: digest != 0, asked: -2 * fresh}
	delete(m.told, peer)
	if m.joining() {
		m.ask(peer)
		return
	}
	if m.view.Contains(peer) {
		m.greet(peer, incarnation)
	}
	if digest != 0 { // who is in no cluster will ask
		m.Shown(now, peer, digest)
	}
}

// Down says that the connection to a peer ended.
func (m *Machine) Down(now time.Duration, peer algo.NodeID) {
	delete(m.links, peer)
	delete(m.outside, peer)
	if !m.view.Contains(peer) {
		delete(m.told, peer)
		m.queue = slices.DeleteFunc(m.queue, func(p Propose) bool { return p.Entry.ID == peer })
	}
	m.seek(now)
}

// Led says that the algorithm has announced somebody, or a vacancy.
func (m *Machine) Led(now time.Duration) {
	leader, _, _ := m.env.Leader()
	switch {
	case !leader.Vacant():
		m.vacant = never
	case m.vacant == never:
		m.vacant = now
	}
	if leader.ID != m.self() {
		m.guest = false
		m.queue = slices.DeleteFunc(m.queue, func(p Propose) bool { return p.Gone }) // that may be taken back
	}
	if m.wishes.again != never {
		m.wishes.again, m.wishes.tries = now, 0
	}
	if !leader.Vacant() {
		m.hear(now)
	}
}

// Wake does what is due.
func (m *Machine) Wake(now time.Duration) {
	m.contact(now)
	m.repay(now)
	m.standing(now)
	m.condemn(now)
	m.forget(now)
	m.Tend(now)
}

// Tend does what follows from what the algorithm or the detector has found out. The host calls
// it at the end of each of its steps, until View changes no more.
func (m *Machine) Tend(now time.Duration) {
	if m.end != (End{}) {
		return
	}
	m.bootstrap(now)
	m.listen(now)
	m.preside(now)
	m.escort(now)
	if len(m.queue) > 0 && m.leads() && m.Confirmed() && m.env.Backed() {
		m.hear(now) // what has waited for the last of these
	}
	if m.wishes.again <= now {
		m.wish(now)
	}
}

// Deadline is when Wake is due.
func (m *Machine) Deadline() time.Duration {
	if m.end != (End{}) {
		return never
	}
	_, next := m.nextForget()
	next = min(next, m.nextContact(), m.repays, m.nextStand(), m.wishes.again, m.doom.due())
	if newcomer := m.newcomer(); !newcomer.IsZero() {
		next = min(next, m.until)
	}
	return next
}

// Watched are members that the host has its detector watch, beside those that the algorithm
// monitors.
func (m *Machine) Watched() (watched []algo.NodeID) {
	if m.forgets() {
		return slices.Collect(m.view.Others(m.self()))
	}
	if newcomer := m.newcomer(); !newcomer.IsZero() {
		watched = append(watched, newcomer)
	}
	return watched
}

// take puts a roster in force. What this node was told of others stays.
func (m *Machine) take(now time.Duration, next Roster) {
	m.roster, m.settled, m.unsaved = Know(next), false, true
	m.holders = make(map[algo.NodeID]bool)
	m.overlay()
	m.seek(now)
}
