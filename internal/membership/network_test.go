package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// A network has nodes in virtual time, with connections and addresses. An oracle elects: it sees which nodes
// are connected.

// machine has the methods of [Dynamic] and [Static] that an engine calls.
type machine interface {
	Start(now time.Duration)
	Up(now time.Duration, p Peer)
	Down(now time.Duration, peer algo.NodeID)
	Receive(now time.Duration, from algo.NodeID, m algo.Message) bool
	HandleDigest(now time.Duration, peer algo.NodeID, digest uint64)
	HandleDialFailure(now time.Duration, addr string, state SeedState)
	HandleReached(now time.Duration, addr string, peer algo.NodeID)
	HandleResolved(now time.Duration, name string, addrs []string)
	Wake(now time.Duration)
	Advance(now time.Duration)
	Deadline() time.Duration
	SetSelf(now time.Duration, self Member)
	Resign(now, period time.Duration)

	View() algo.View
	Cluster() algo.NodeID
	Committed() bool
	Digest() uint64
	Ready(now time.Duration) bool
	Isolated() bool
	Undiscovered() []Seed
	MonitorSet() []algo.NodeID
	Unsaved() []algo.Message
	End() error
}

var (
	_ machine = (*Dynamic)(nil)
	_ machine = (*Static)(nil)
)

// netNode is one node of a network.
type netNode struct {
	net     *network
	m       machine
	dynamic *Dynamic // m of a dynamic node
	static  *Static
	self    Member
	options Options
	list    []string // list of a static node

	without rule
	saved   []algo.Message
	life    uint64
	up      bool
	term    algo.Epoch
	leads   bool
	heard   map[algo.NodeID]time.Duration // time of the last message of a peer
}

type network struct {
	now       time.Duration
	events    []event // sorted by time
	nodes     []*netNode
	conns     map[[2]algo.NodeID]int // number of the connection between two nodes
	dials     int
	frames    int
	lives     uint64
	cut       func(a, b *netNode) bool
	lost      func() bool // reports whether the next frame is lost
	violation string
}

type event struct {
	at time.Duration
	do func()
}

const (
	hop         = time.Millisecond
	testRetry   = 200 * time.Millisecond
	testSuspect = 300 * time.Millisecond // silence after which a node is suspected
)

func newNetwork() *network {
	return &network{conns: make(map[[2]algo.NodeID]int), cut: func(a, b *netNode) bool { return false }, lost: func() bool { return false }}
}

// add adds a node with the i-th ID. It does not start it.
func (n *network) add(i int, name, addr string, o Options) *netNode {
	p := &netNode{net: n, self: Member{ID: testID(i), Name: name, Addr: addr}, options: o}
	n.nodes = append(n.nodes, p)
	return p
}

func (n *network) addStatic(i int, name, addr string, list ...string) *netNode {
	p := n.add(i, name, addr, Options{})
	p.list = list
	return p
}

func (p *netNode) start() *netNode {
	p.net.lives++
	p.life, p.up, p.heard = p.net.lives, true, make(map[algo.NodeID]time.Duration)
	if p.list != nil {
		p.static = NewStatic(StaticOptions{Self: p.self, List: p.list, StartupWait: time.Second, Retry: testRetry}, p)
		p.m = p.static
	} else {
		p.options.Self, p.options.Retry, p.options.Cluster = p.self, testRetry, testID(100+int(p.life))
		p.dynamic = NewDynamic(p.options, p, p.saved...)
		p.dynamic.without = p.without
		p.m = p.dynamic
	}
	p.m.Start(p.net.now)
	p.advance()
	return p
}

func (p *netNode) stop() {
	p.up, p.leads = false, false
	for _, q := range p.net.nodes {
		p.net.disconnect(p.self.ID, q.self.ID)
	}
}

// hasEnded reports whether the machine has ended, which stops the node.
func (p *netNode) hasEnded() bool { return p.m != nil && p.m.End() != nil }

func (n *network) after(d time.Duration, do func()) {
	e := event{n.now + d, do}
	i := len(n.events)
	for i > 0 && n.events[i-1].at > e.at {
		i--
	}
	n.events = slices.Insert(n.events, i, e)
}

func pair(a, b algo.NodeID) [2]algo.NodeID {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return [2]algo.NodeID{a, b}
}

func (n *network) find(matches func(*netNode) bool) *netNode {
	for _, p := range n.nodes {
		if p.up && matches(p) {
			return p
		}
	}
	return nil
}

func (n *network) byID(id algo.NodeID) *netNode {
	return n.find(func(p *netNode) bool { return p.self.ID == id })
}

func (n *network) isConnected(p, q *netNode) bool { return n.conns[pair(p.self.ID, q.self.ID)] > 0 }

// Send implements Env. A message is lost if the connection ends before it arrives.
func (p *netNode) Send(to algo.NodeID, m algo.Message) {
	n, key := p.net, pair(p.self.ID, to)
	conn := n.conns[key]
	if conn == 0 {
		return
	}
	n.frames++
	if n.lost() {
		return
	}
	n.after(hop, func() {
		if q := n.byID(to); q != nil && n.conns[key] == conn {
			q.heard[p.self.ID] = n.now
			q.m.Receive(n.now, p.self.ID, m)
			q.advance()
		}
	})
}

// Dial implements Env.
func (p *netNode) Dial(_ algo.NodeID, addr string) {
	n := p.net
	life := p.life
	n.after(hop, func() {
		if !p.up || p.life != life {
			return
		}
		q := n.find(func(q *netNode) bool { return q.self.Addr == addr })
		switch {
		case q == nil:
			p.m.HandleDialFailure(n.now, addr, SeedRefused)
		case n.cut(p, q):
			p.m.HandleDialFailure(n.now, addr, SeedSilent)
		case q == p || n.isConnected(p, q):
			p.m.HandleReached(n.now, addr, q.self.ID)
		default:
			n.connect(p, q, addr)
		}
		p.advance()
	})
}

// Reject implements Env. Messages sent before it arrive.
func (p *netNode) Reject(peer algo.NodeID, reason error) {
	n := p.net
	conn := n.conns[pair(p.self.ID, peer)]
	n.after(hop, func() {
		if n.conns[pair(p.self.ID, peer)] == conn {
			n.disconnect(p.self.ID, peer)
		}
	})
}

func (n *network) connect(p, q *netNode, dialed string) {
	n.dials++
	n.conns[pair(p.self.ID, q.self.ID)] = n.dials
	p.heard[q.self.ID], q.heard[p.self.ID] = n.now, n.now
	toP := Peer{ID: q.self.ID, Name: q.self.Name, Incarnation: q.life, Digest: q.m.Digest(), Addr: q.self.Addr, Dialed: dialed}
	toQ := Peer{ID: p.self.ID, Name: p.self.Name, Incarnation: p.life, Digest: p.m.Digest(), Addr: p.self.Addr}
	p.m.Up(n.now, toP)
	if n.isConnected(p, q) {
		q.m.Up(n.now, toQ)
	}
	p.advance()
	q.advance()
}

func (n *network) disconnect(a, b algo.NodeID) {
	if n.conns[pair(a, b)] == 0 {
		return
	}
	delete(n.conns, pair(a, b))
	for _, ids := range [][2]algo.NodeID{{a, b}, {b, a}} {
		if p := n.byID(ids[0]); p != nil {
			p.m.Down(n.now, ids[1])
		}
	}
}

// Leader implements Env.
func (p *netNode) Leader() (algo.Leader, algo.Epoch) {
	if p.leads {
		return algo.Leader{ID: p.self.ID, Epoch: p.term}, p.term
	}
	for _, q := range p.net.nodes {
		if q.up && q.leads && q.term == p.term && p.net.isConnected(p, q) {
			return algo.Leader{ID: q.self.ID, Epoch: q.term}, p.term
		}
	}
	return algo.Leader{}, p.term
}

// HoldsLease implements Env: there is no lease.
func (p *netNode) HoldsLease() bool { return true }

// Suspected implements Env.
func (p *netNode) Suspected(id algo.NodeID) (bool, time.Duration) {
	if p.net.conns[pair(p.self.ID, id)] > 0 || id == p.self.ID {
		return false, 0
	}
	since := p.heard[id] + testSuspect
	return p.net.now >= since, since
}

// advance does what an engine does after each step.
func (p *netNode) advance() {
	if !p.up {
		return
	}
	p.adoptTerm()
	p.m.Advance(p.net.now)
	p.m.Advance(p.net.now) // again, as an engine does after a change of the view
	p.adoptTerm()
	if saved := p.m.Unsaved(); len(saved) > 0 {
		p.saved = saved
	}
	if p.dynamic != nil && p.leads && !p.dynamic.IsEligible(p.self.ID) {
		p.leads = false
	}
	if p.m.End() != nil {
		p.stop()
	}
}

func (p *netNode) adoptTerm() {
	if p.dynamic != nil && p.dynamic.config.ID.Term > p.term {
		p.term, p.leads = p.dynamic.config.ID.Term, false
	}
}

// run lets time pass.
func (n *network) run(d time.Duration) {
	for end := n.now + d; n.now < end; n.now += hop {
		for len(n.events) > 0 && n.events[0].at <= n.now {
			e := n.events[0]
			n.events = n.events[1:]
			e.do()
		}
		for _, p := range n.nodes {
			if p.up && p.m.Deadline() <= n.now {
				p.m.Wake(n.now)
				p.advance()
			}
		}
		if n.now%(100*hop) == 0 {
			n.beat()
		}
	}
}

// beat delivers heartbeats between connected nodes, lets nodes dial the other members, and lets the oracle elect.
func (n *network) beat() {
	for _, p := range n.nodes {
		for _, q := range n.nodes {
			if p == q || !p.up || !q.up {
				continue
			}
			if n.cut(p, q) {
				n.disconnect(p.self.ID, q.self.ID)
			}
			if n.isConnected(p, q) {
				p.hear(q)
			} else if e, isMember := p.m.View().Member(q.self.ID); isMember && p.m.Ready(n.now) {
				p.Dial(e.ID, e.Addr)
			}
		}
	}
	for _, p := range n.nodes {
		if p.up && p.dynamic != nil {
			p.elect()
		}
	}
}

// hear handles a heartbeat.
func (p *netNode) hear(q *netNode) {
	p.heard[q.self.ID] = p.net.now
	isNewLeader := p.dynamic != nil && q.leads && q.term > p.term && p.m.Ready(p.net.now)
	if isNewLeader && p.m.View().Contains(q.self.ID) {
		p.term, p.leads = q.term, false
	}
	p.m.HandleDigest(p.net.now, q.self.ID, q.m.Digest())
	p.advance()
}

// elect makes p the leader if p hears no leader and a quorum votes for p. A leader without a quorum stops leading.
func (p *netNode) elect() {
	m := p.dynamic
	if !m.Ready(p.net.now) || !m.IsEligible(p.self.ID) {
		return
	}
	voters, term := []*netNode{p}, p.term
	reached := 1
	for _, e := range m.config.Members {
		q := p.net.byID(e.ID)
		if q == nil || q == p || !p.net.isConnected(p, q) || !q.m.Ready(p.net.now) {
			continue
		}
		reached++
		if !p.leads && q.leads && q.term >= p.term {
			return
		}
		if q.m.Cluster() == p.m.Cluster() && q.dynamic.config.ID.Compare(m.config.ID) <= 0 {
			voters, term = append(voters, q), max(term, q.term)
		}
	}
	needed := quorum(m.config.Members)
	if p.leads {
		p.leads = reached >= needed
		return
	}
	if len(voters) < needed {
		return
	}
	for _, q := range voters {
		q.term, q.leads = term+1, false
	}
	p.leads = true
	for _, q := range p.net.nodes {
		if q != p && q.leads && q.term == p.term && q.m.Cluster() == p.m.Cluster() {
			p.net.violation = fmt.Sprintf("two nodes lead in term %d", p.term)
		}
	}
	p.advance()
}

// leader returns the node that leads in the highest term; nil for none.
func (n *network) leader() (leader *netNode) {
	for _, p := range n.nodes {
		if p.leads && (leader == nil || p.term > leader.term) {
			leader = p
		}
	}
	return leader
}

// disagreement returns why the running nodes do not agree on members with these names; empty if they agree.
func (n *network) disagreement(names string) string {
	if n.violation != "" {
		return n.violation
	}
	var first *Dynamic
	for _, p := range n.nodes {
		if !p.up {
			continue
		}
		m := p.dynamic
		if first == nil {
			first = m
		}
		switch e, _ := m.config.Find(p.self.ID); {
		case namesOf(m.View()) != names:
			return fmt.Sprintf("%s has the members %q, want %q", p.self.Name, namesOf(m.View()), names)
		case !m.committed:
			return p.self.Name + " does not know that its config is committed"
		case m.Digest() != first.Digest():
			return "two configs"
		case e != p.self:
			return fmt.Sprintf("%s has the entry %+v", p.self.Name, e)
		}
	}
	return ""
}

// namesOf returns the names of the members, sorted.
func namesOf(v algo.View) string {
	var names []string
	for m := range v.All() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "")
}
