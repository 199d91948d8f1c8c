package membership

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
)

// A world is one state of a few nodes that run the register with an abstract election. It consists of
// the nodes and of all messages ever sent: any of them may arrive at any time, again, or never.

// frozen is the time of a search. It stands still, so each step does at once everything that is due.
const frozen = 1

// testID returns the ID of node i.
func testID(i int) algo.NodeID { return algo.NodeID{15: byte(i + 1)} }

// indexOf returns the index of the node with an ID; -1 for none.
func indexOf(id algo.NodeID) int { return int(id[15]) - 1 }

// A nodeSet has bit i for node i.
type nodeSet uint8

func (s nodeSet) has(i int) bool { return i >= 0 && s>>i&1 == 1 }
func (s nodeSet) size() int      { return bits.OnesCount8(uint8(s)) }
func (s nodeSet) quorum() int    { return s.size()/2 + 1 }
func one(i int) nodeSet          { return 1 << i }

func votersOf(members []Member) (s nodeSet) {
	for _, e := range members {
		s |= one(indexOf(e.ID))
	}
	return s
}

// node is the state of one node. Worlds share nodes, so a node is not modified after it is part of a world.
type node struct {
	m       *Dynamic
	term    algo.Epoch // highest epoch in which the node has taken part
	vote    int8       // node that it votes for in term; -1 for none
	decided bool       // a node leads in term, or may have led: this node neither votes nor wins in term
	stands  bool
	leads   bool
	claims  algo.Epoch // epoch in which the node still considers itself leader, after a vote for another node; 0 for none
	up      bool
	gone    bool    // the node never starts again, or is unborn
	unborn  bool    // the node replaces another one when that one loses its directory, and has not started yet
	mute    bool    // the node sends join requests, and handles no message
	granted nodeSet // voters that have granted the lease of this leader
	slot    int     // argument of entryOf for the name and address of the node
	life    uint64  // incarnation
	deaf    nodeSet // nodes that ended for good before this one started: it receives none of their messages
	key     []byte
}

func (n *node) isDead() bool { return !n.up || n.m.end != nil }

// clone returns a machine in the same state.
func (m *Dynamic) clone() *Dynamic {
	c := *m
	c.env = nil
	c.links, c.seeds, c.standby.peers = slices.Clone(m.links), slices.Clone(m.seeds), slices.Clone(m.standby.peers)
	c.acks, c.removals, c.listBootstrap.replies = slices.Clone(m.acks), slices.Clone(m.removals), slices.Clone(m.listBootstrap.replies)
	return &c
}

// fact is a message that was sent, or an event that a property is about. The kind is in the highest byte.
type fact uint64

const (
	factUpdate           = iota + 1 // config (2 bytes), committed, sent by its author
	factAck                         // from, term, version
	factSelf                        // from, term, version
	factRemove                      // target
	factBootstrapRequest            // from
	factBootstrapReply              // from, to
	factCandidate                   // candidate, term, term and version of its config
	factVote                        // from, candidate, term
	factWin                         // term, node, term and version of its config
)

func newFact(kind int, parts ...int) fact {
	f := fact(kind) << 56
	for i, p := range parts {
		f |= fact(p&0xff) << (48 - 8*i)
	}
	return f
}

func (f fact) kind() int      { return int(f >> 56) }
func (f fact) part(i int) int { return int(f >> (48 - 8*i) & 0xff) }
func (f fact) config() Config { return configTable.config(int(f >> 40 & 0xffff)) }
func (f fact) configID(i int) ConfigID {
	return ConfigID{algo.Epoch(f.part(i)), uint64(f.part(i + 1))}
}

// configTable numbers the configs that occur.
var configTable table

type table struct {
	sync.RWMutex
	numbers map[string]int
	all     []Config
}

func (t *table) number(c Config) int {
	var b [64]byte
	key := append(b[:0], c.Cluster[15], byte(c.ID.Term), byte(c.ID.Version), c.Author[15])
	for _, e := range c.Members {
		key = append(key, e.ID[15], byte(e.Priority), e.Name[0], e.Addr[0])
		if e.Witness {
			key = append(key, 'w')
		}
	}
	key = append(key, 0xff)
	for _, id := range c.Expired {
		key = append(key, id[15])
	}
	t.RLock()
	i, found := t.numbers[string(key)]
	t.RUnlock()
	if found {
		return i
	}
	t.Lock()
	defer t.Unlock()
	if i, found := t.numbers[string(key)]; found {
		return i
	}
	if t.numbers == nil {
		t.numbers = make(map[string]int)
	}
	t.all = append(t.all, c)
	t.numbers[string(key)] = len(t.all) - 1
	return len(t.all) - 1
}

func (t *table) config(i int) Config {
	t.RLock()
	defer t.RUnlock()
	return t.all[i]
}

// budget bounds the events of a search.
type budget struct{ elections, crashes, mistakes, renewals int8 }

type world struct {
	s         *scenario
	nodes     []*node
	facts     []fact // sorted
	left      budget
	given     uint8  // bit k: order k was given
	commit    Config // newest committed config
	elected   Config // newest config of an elected node, after a bootstrap by a list
	violation string
}

func (w *world) clone() *world {
	c := *w
	c.nodes = slices.Clone(w.nodes)
	return &c
}

func (w *world) add(f fact) {
	i, found := slices.BinarySearch(w.facts, f)
	if !found {
		facts := make([]fact, 0, len(w.facts)+2)
		w.facts = append(append(append(facts, w.facts[:i]...), f), w.facts[i:]...)
	}
}

func (w *world) violate(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
	}
}

// testEnv is the environment of a machine in one step.
type testEnv struct {
	w        *world
	i        int
	n        *node
	suspects nodeSet
	calm     *calmRun // nil in a search
}

func (v *testEnv) Dial(algo.NodeID, string)  {}
func (v *testEnv) Reject(algo.NodeID, error) {}

func (v *testEnv) Leader() (algo.Leader, algo.Epoch) {
	n := v.n
	switch {
	case n.leads:
		return algo.Leader{ID: testID(v.i), Epoch: n.term}, n.term
	case n.claims > 0:
		return algo.Leader{ID: testID(v.i), Epoch: n.claims}, n.term
	case v.calm == nil:
		return algo.Leader{ID: testID(98)}, n.term
	}
	if l := v.calm.leader(); l >= 0 {
		return algo.Leader{ID: testID(l), Epoch: v.w.nodes[l].term}, n.term
	}
	return algo.Leader{}, n.term
}

func (v *testEnv) Suspected(id algo.NodeID) (bool, time.Duration) {
	return v.suspects.has(indexOf(id)), 0
}

func (v *testEnv) HoldsLease() bool {
	if !v.w.s.lease || v.w.s.ignoresLease {
		return true
	}
	voters := votersOf(v.n.m.config.Members)
	return (v.n.granted & voters).size() >= voters.quorum()
}

func (v *testEnv) Send(to algo.NodeID, message algo.Message) {
	if v.calm != nil {
		v.calm.queue = append(v.calm.queue, envelope{v.i, indexOf(to), message})
		return
	}
	switch message := message.(type) {
	case Update:
		isAuthor := message.Config.isInitial() && message.Config.Author == testID(v.i)
		v.w.add(updateFact(message, isAuthor))
	case Ack:
		v.w.add(newFact(factAck, v.i, int(message.Config.Term), int(message.Config.Version)))
	case Self:
		if v.n.m.wantsChange() {
			v.w.add(newFact(factSelf, v.i, int(message.Holds.Term), int(message.Holds.Version)))
		}
	case RemoveRequest:
		v.w.add(newFact(factRemove, indexOf(message.ID)))
	case BootstrapRequest:
		v.w.add(newFact(factBootstrapRequest, v.i))
	case BootstrapReply:
		v.w.add(newFact(factBootstrapReply, v.i, indexOf(to)))
	}
}

func updateFact(u Update, isAuthor bool) fact {
	k := configTable.number(u.Config)
	flag := map[bool]int{true: 1}
	return newFact(factUpdate, k>>8, k, flag[u.Committed], flag[isAuthor])
}

// change replaces node i by a copy, and returns the copy.
func (w *world) change(i int) *node {
	n := *w.nodes[i]
	n.key = nil
	n.m = n.m.clone()
	w.nodes[i] = &n
	return &n
}

// step calls the machine of node i, and performs its effects.
func (w *world) step(i int, suspects nodeSet, call func(*Dynamic)) {
	w.stepIn(&testEnv{w: w, i: i, n: w.change(i), suspects: suspects}, call)
}

func (w *world) stepIn(v *testEnv, call func(*Dynamic)) {
	n := v.n
	n.m.env = v
	id, committed := n.m.config.ID, n.m.committed
	call(n.m)
	n.adoptTerm(w)
	now := time.Duration(frozen)
	if v.calm != nil {
		now = v.calm.now
	}
	n.m.Advance(now)
	if n.m.retryAt == now { // the node has written a config, and sends it after the change of the view
		n.m.Advance(now)
	}
	for i := range n.m.links {
		n.m.links[i].isLearner = n.m.links[i].isLearner && v.calm != nil // in a search the request arrives again at any time
	}
	n.adoptTerm(w)
	saved := len(n.m.Unsaved()) > 0
	if saved && (n.leads || n.claims > 0) && n.m.committed && (!committed || id != n.m.config.ID) {
		w.recordCommit(v.i, n.m.config)
	}
	if n.leads && !n.m.IsEligible(testID(v.i)) {
		n.leads, n.decided, n.granted = false, true, 0 // the leader hands over
	}
	n.m.env = nil
}

// adoptTerm raises the term of a node to that of its config (A3).
func (n *node) adoptTerm(w *world) {
	term := n.m.config.ID.Term
	switch {
	case w.s.skipsTerm && term > n.term:
		n.leads, n.stands = false, false
		return
	case w.s.skipsTerm:
		return
	case term > n.term:
		n.term, n.vote, n.decided, n.leads, n.stands, n.claims = term, -1, true, false, false, 0
	case term == n.term && term > 0 && !n.leads:
		n.decided, n.stands = true, false
	}
	if !n.leads {
		n.granted = 0
	}
}

// recordCommit records that node i considers c committed. It checks that this is right.
func (w *world) recordCommit(i int, c Config) {
	for _, f := range w.facts {
		isLater := f.kind() == factWin && f.part(0) > int(c.ID.Term)
		if isLater && f.configID(2).Compare(c.ID) < 0 {
			w.violate("n%d commits %s, which n%d did not hold when it won term %d", i+1, format(c), f.part(1)+1, f.part(0))
		}
	}
	switch order := c.ID.Compare(w.commit.ID); {
	case order > 0:
		w.commit = c
	case order == 0 && votersOf(c.Members) != votersOf(w.commit.Members):
		w.violate("n%d commits %s, and %s is committed", i+1, format(c), format(w.commit))
	}
}

func format(c Config) string {
	var ids []string
	for _, e := range c.Members {
		ids = append(ids, fmt.Sprint(indexOf(e.ID)+1))
	}
	return fmt.Sprintf("%s{%s}", c.ID, strings.Join(ids, " "))
}

// encode returns the state of a node as bytes.
func (n *node) encode() []byte {
	if n.key != nil {
		return n.key
	}
	m := n.m
	b := make([]byte, 0, 40)
	b = binary.BigEndian.AppendUint16(b, uint16(configTable.number(m.config)))
	var flags uint32
	for i, f := range []bool{m.committed, m.wasMember, m.end == ErrRemoved, m.end == ErrLeft, m.end == ErrExpired, m.end != nil,
		m.standby.endsAt > 0, n.decided, n.stands, n.leads, n.up, n.gone, n.unborn, m.options.Self.Priority > 0, m.retryAt != never} {
		if f {
			flags |= 1 << i
		}
	}
	b = binary.BigEndian.AppendUint32(b, flags)
	var acks, removals, replies nodeSet
	for _, id := range m.acks {
		acks |= one(indexOf(id))
	}
	for _, id := range m.removals {
		removals |= one(indexOf(id))
	}
	for _, r := range m.listBootstrap.replies {
		replies |= one(indexOf(r.member.ID))
	}
	b = append(b, byte(votersOf(m.before)), byte(acks), byte(removals), byte(n.term), byte(n.vote+1), byte(n.granted), byte(n.claims))
	if len(m.options.List) > 0 {
		b = append(b, byte(n.deaf), byte(replies), m.listBootstrap.repliedTo[15], byte(m.listBootstrap.repliedToIncarnation))
		for _, s := range m.seeds {
			b = append(b, s.Peer[15])
		}
	}
	n.key = b
	return b
}

// encode appends the state to b.
func (w *world) encode(b []byte) []byte {
	for _, n := range w.nodes {
		b = append(b, n.encode()...)
	}
	for _, f := range w.facts {
		b = binary.BigEndian.AppendUint64(b, uint64(f))
	}
	if w.s.listed {
		b = binary.BigEndian.AppendUint16(b, uint16(configTable.number(w.elected)))
	}
	b = append(b, byte(w.commit.ID.Term), byte(w.commit.ID.Version), byte(votersOf(w.commit.Members)), w.given)
	return append(b, byte(w.left.elections), byte(w.left.crashes), byte(w.left.mistakes), byte(w.left.renewals))
}

// prune drops the facts that can have no effect any more.
func (w *world) prune() {
	keep := w.facts[:0:0]
	for _, f := range w.facts {
		if w.matters(f) {
			keep = append(keep, f)
		}
	}
	w.facts = keep
}

func (w *world) matters(f fact) bool {
	switch f.kind() {
	case factUpdate:
		return w.updateMatters(f)
	case factAck:
		return slices.ContainsFunc(w.nodes, func(n *node) bool {
			return (n.leads || n.claims > 0) && n.m.config.ID == f.configID(1) && !n.m.committed
		})
	case factSelf: // a node with a newer config sends Self again
		return w.selfMatters(f)
	case factRemove:
		return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.m.config.Has(testID(f.part(0))) && !n.gone })
	case factBootstrapRequest:
		return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.unborn || !n.gone && n.m.isBlank() })
	case factBootstrapReply:
		to := w.nodes[f.part(1)]
		return !to.gone && to.m.isBlank()
	case factCandidate:
		n := w.nodes[f.part(0)]
		return n.stands && int(n.term) == f.part(1)
	case factVote:
		n := w.nodes[f.part(1)]
		return n.stands && int(n.term) == f.part(2)
	case factWin:
		return slices.ContainsFunc(w.nodes, func(n *node) bool { return !n.gone && int(n.term) <= f.part(0) })
	}
	return true
}

func (w *world) updateMatters(f fact) bool {
	if w.s.forgetsConfig || w.s.anyRollsBack {
		return true
	}
	c := f.config()
	return slices.ContainsFunc(w.nodes, func(n *node) bool {
		if n.unborn {
			return true
		}
		order := c.ID.Compare(n.m.config.ID)
		isNews := order > 0 || order == 0 && f.part(2) == 1 && !n.m.committed
		return !n.gone && n.m.end == nil && isNews
	})
}

func (w *world) selfMatters(f fact) bool {
	n := w.nodes[f.part(0)]
	for i, o := range w.nodes {
		order := o.m.config.ID.Compare(f.configID(1))
		isReceiver := i != f.part(0) && !o.gone
		if isReceiver && (order <= 0 || !o.isDead() && w.s.without&r9 != 0) {
			return true
		}
	}
	return n.mute
}
