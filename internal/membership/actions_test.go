package membership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
)

// order is a request of an operator, given once.
type order struct {
	at, target int     // nodes; if equal, the node leaves
	leaves     nodeSet // if not 0, a leader removes all other members in one reconfig
}

// scenario is the start of a search, with the events that may happen.
type scenario struct {
	name     string
	members  int   // nodes of the first config
	joiners  int   // nodes that join, after them
	listed   bool  // the members bootstrap the cluster by a list
	emptied  []int // numbers of nodes that may lose their directory, once; the k-th gets the k-th ID after the joiners
	absent   int   // number of a node that is dead for good; the first joiner has its name and address; 0: none
	late     int   // number of a node that has not started yet; 0: none
	mute     bool  // the joiners handle no message
	witness  bool  // the second member is a witness
	restate  bool  // the first member has another priority than its entry
	lease    bool
	expires  bool // the leader removes suspected members
	atomic   bool // an election is one step
	lingers  bool // a leader that votes for another node considers itself leader for a while
	forgoes  bool // a node that crashes may stay away
	orders   []order
	left     budget
	maxTerm  int
	versions uint64 // states with a newer config version are not continued; 0: no limit
	calmSkip uint64 // one of this number of states is continued in calm; 0 or 1: each

	// Rules that are switched off: of the register, and of the abstract election.
	without       rule
	ignoresLease  bool // A4
	skipsTerm     bool // A3
	helpsOlder    bool // A2
	forgetsVote   bool // A1
	forgetsConfig bool // R1
	anyRollsBack  bool // R12: any holder of a config rolls it back, not only its author
}

func entryOf(slot int) Member {
	return Member{ID: testID(slot), Name: string(rune('a' + slot)), Addr: string(rune('A' + slot))}
}

func (s *scenario) first() Config {
	c := Config{Cluster: testID(90), ID: ConfigID{Version: 1}, Author: testID(0)}
	for i := range s.members {
		e := entryOf(i)
		e.Witness = s.witness && i == 1
		c.Members = append(c.Members, e)
	}
	return c
}

func (s *scenario) start() *world {
	w := &world{s: s, left: s.left}
	for i := range s.members + s.joiners + len(s.emptied) {
		n := &node{vote: -1, up: true, slot: i, life: 1}
		if i == s.members && s.absent > 0 {
			n.slot = s.absent - 1
		}
		if k := i - s.members - s.joiners; k >= 0 {
			before := w.nodes[s.emptied[k]-1]
			n.slot, n.life, n.up, n.gone, n.unborn = before.slot, before.life+1, false, true, true
		}
		n.mute = s.mute && i >= s.members
		w.nodes = append(w.nodes, n)
		n.m = s.boot(w, i)
		if i < s.members && !s.listed {
			n.m.config, n.m.committed, n.m.wasMember = s.first(), true, true
		}
	}
	if !s.listed {
		w.commit = s.first()
		w.add(updateFact(Update{s.first(), true}, false)) // any member may send it
	}
	for i, n := range w.nodes {
		switch {
		case i+1 == s.absent:
			n.up, n.gone = false, true
		case i+1 == s.late:
			n.up = false
		case n.up:
			w.begin(i)
		}
	}
	w.prune()
	return w
}

// boot returns the machine of node i without saved state.
func (s *scenario) boot(w *world, i int) *Dynamic {
	self := entryOf(w.nodes[i].slot)
	self.ID = testID(i)
	self.Witness = s.witness && i == 1
	if s.restate && i == 0 {
		self.Priority = 1
	}
	o := Options{Self: self, Cluster: testID(90 + i), Join: []string{"?"}}
	if s.listed {
		o.Join, o.List = nil, nil
		for slot := range s.members {
			o.List = append(o.List, entryOf(slot).Addr)
		}
	}
	if s.expires {
		o.RemoveSuspectedAfter = 1
	}
	m := NewDynamic(o, nil)
	m.without = s.without
	return m
}

// begin starts node i, connected to all others.
func (w *world) begin(i int) {
	if w.s.listed {
		w.change(i).deaf = w.gone()
	}
	w.step(i, 0, func(m *Dynamic) {
		for j, o := range w.nodes {
			if j != i {
				m.links.add(link{peer: testID(j), name: entryOf(o.slot).Name, incarnation: o.life})
			}
		}
		m.Start(frozen)
		for j := range w.nodes {
			w.discover(m, j)
		}
		m.sendBootstrapRequests()
	})
}

// discover records in the seeds of m that node j is at its address, unless a later incarnation is known there.
func (w *world) discover(m *Dynamic, j int) {
	for _, s := range m.seeds {
		isNewer := s.Peer.IsZero() || w.nodes[indexOf(s.Peer)].life < w.nodes[j].life
		if s.Addr == entryOf(w.nodes[j].slot).Addr && s.Peer != m.self() && testID(j) != m.self() && isNewer && !w.nodes[j].unborn {
			m.seeds.recordNode(s.Addr, testID(j))
		}
	}
}

// action names a step, for traces.
type action struct {
	kind    byte
	a, b, c int
}

var actionTexts = map[byte]string{
	'c': "n%d starts an election", 'v': "n%d votes for n%d in term %d", 'w': "n%d wins", 'E': "n%d is elected by %b",
	'u': "n%d receives config", 'a': "n%d receives the ack of n%d", 's': "n%d receives what n%d is",
	'r': "n%d receives the request to remove n%d", 'o': "order %d is given", 'x': "n%d crashes", 'R': "n%d starts again",
	'd': "n%d suspects all dead nodes", 'm': "n%d suspects n%d falsely", 'l': "n%d leads no more",
	't': "n%d rolls back what it has not written", 'g': "n%d's lease is granted by %b", 'e': "n%d is eligible again",
	'X': "the directory of n%d is emptied", 'q': "n%d receives the bootstrap request of n%d", 'y': "n%d receives the bootstrap reply of n%d",
}

func (a action) String() string {
	args := []any{a.a + 1}
	switch a.kind {
	case 'v':
		args = append(args, a.b+1, a.c)
	case 'E', 'g':
		args = append(args, a.b)
	case 'a', 's', 'r', 'm', 'q', 'y':
		args = append(args, a.b+1)
	}
	text := fmt.Sprintf(actionTexts[a.kind], args...)
	if a.kind == 'u' {
		text += " " + format(configTable.config(a.b)) + strings.Repeat(" committed", a.c)
	}
	return text
}

// next visits the worlds that are one step away.
func (w *world) next(yield func(action, *world)) {
	s := w.s
	isBeyond := func(n *node) bool { return n.m.config.ID.Version > s.versions }
	isLimit := s.versions > 0 && slices.ContainsFunc(w.nodes, isBeyond)
	if isLimit || w.isEmptied(w.elected) {
		return
	}
	do := func(a action, change func(*world)) {
		c := w.clone()
		change(c)
		c.prune()
		yield(a, c)
	}
	for i, n := range w.nodes {
		w.emptying(i, n, do)
		if n.gone {
			continue
		}
		if !n.up {
			do(action{kind: 'R', a: i}, func(c *world) {
				c.change(i).up = true
				c.begin(i)
			})
			continue
		}
		if n.isDead() {
			continue
		}
		if w.left.crashes > 0 {
			do(action{kind: 'x', a: i}, func(c *world) { c.crash(i, false) })
			if s.forgoes {
				do(action{kind: 'x', a: i}, func(c *world) { c.crash(i, true) })
			}
		}
		w.elections(i, n, do)
		if n.mute {
			continue
		}
		for _, f := range w.facts {
			w.delivery(i, n, f, do)
		}
		w.suspicions(i, n, do)
		if s.anyRollsBack {
			w.foreignRollBacks(i, n, do)
		}
		if n.m.standby.endsAt > 0 {
			do(action{kind: 'e', a: i}, func(c *world) { c.step(i, 0, func(m *Dynamic) { m.standby.endsAt = 0 }) })
		}
	}
	for k, o := range s.orders {
		if w.mayOrder(k, o) {
			do(action{kind: 'o', a: k}, func(c *world) { c.give(k, o) })
		}
	}
}

func (w *world) suspicions(i int, n *node, do func(action, func(*world))) {
	dead := w.dead()
	if dead != 0 && n.m.Ready(frozen) {
		do(action{kind: 'd', a: i}, func(c *world) { c.step(i, dead, func(*Dynamic) {}) })
	}
	if w.left.mistakes == 0 || !n.leads && n.m.before == nil {
		return
	}
	for j := range w.nodes {
		if j != i && n.m.config.Has(testID(j)) {
			do(action{kind: 'm', a: i, b: j}, func(c *world) {
				c.left.mistakes--
				c.step(i, dead|one(j), func(*Dynamic) {})
			})
		}
	}
}

// foreignRollBacks are the steps that R12 forbids: a node rolls back a config that another node wrote.
func (w *world) foreignRollBacks(i int, n *node, do func(action, func(*world))) {
	if n.m.committed || n.m.before != nil || n.m.config.ID.Version < 2 {
		return
	}
	for _, f := range w.facts {
		if f.kind() != factUpdate {
			continue
		}
		before := f.config()
		if before.ID.Compare(n.m.config.ID) < 0 && !sameIDs(before.Members, n.m.config.Members) {
			do(action{kind: 't', a: i}, func(c *world) {
				c.step(i, w.dead(), func(m *Dynamic) { m.write(frozen, m.config.ID.Term, before.Members, nil) })
			})
		}
	}
}

// emptying is the step in which node i loses its directory, and another node with its name and address starts.
func (w *world) emptying(i int, n *node, do func(action, func(*world))) {
	for k, e := range w.s.emptied {
		successor := w.s.members + w.s.joiners + k
		if e-1 == i && w.nodes[successor].unborn && !n.gone && !n.unborn {
			do(action{kind: 'X', a: i}, func(c *world) {
				c.reset(i, true)
				o := c.change(successor)
				o.up, o.gone, o.unborn = true, false, false
				c.begin(successor)
			})
		}
	}
}

// gone returns the nodes that have ended for good.
func (w *world) gone() (gone nodeSet) {
	for i, n := range w.nodes {
		if n.gone && !n.unborn {
			gone |= one(i)
		}
	}
	return gone
}

func (w *world) dead() (dead nodeSet) {
	for i, n := range w.nodes {
		if n.isDead() {
			dead |= one(i)
		}
	}
	return dead
}

func (w *world) crash(i int, gone bool) {
	w.left.crashes--
	w.reset(i, gone)
}

// reset ends node i, which keeps its saved state.
func (w *world) reset(i int, gone bool) {
	n := w.change(i)
	saved := n.m.record()
	if w.s.forgetsConfig && i < w.s.members {
		saved = w.s.start().nodes[i].m.record()
	}
	n.m = w.s.boot(w, i)
	n.m.config, n.m.committed, n.m.wasMember, n.m.before = saved.Config, saved.Committed, saved.WasMember, saved.Before
	n.up, n.gone = false, gone
	n.leads, n.stands, n.claims, n.granted = false, false, 0, 0
	n.decided = n.decided || n.vote >= 0
	if w.s.forgetsVote {
		n.vote, n.decided = -1, false
	}
}

func (w *world) mayOrder(k int, o order) bool {
	n := w.nodes[o.at]
	isLeader := n.leads && n.m.committed && n.m.config.ID.Term > 0
	return w.given>>k&1 == 0 && !n.isDead() && n.m.Ready(frozen) && (o.leaves == 0 || isLeader)
}

func (w *world) give(k int, o order) {
	w.given |= 1 << k
	w.step(o.at, 0, func(m *Dynamic) {
		if o.leaves == 0 {
			_ = m.Remove(frozen, testID(o.target)) // fails if the target is no member
			return
		}
		isOut := func(e Member) bool { return !o.leaves.has(indexOf(e.ID)) }
		m.reconfig(frozen, slices.DeleteFunc(slices.Clone(m.config.Members), isOut), nil)
	})
}

// elections are the steps that node i takes in an election.
func (w *world) elections(i int, n *node, do func(action, func(*world))) {
	s := w.s
	if n.leads {
		if w.left.mistakes > 0 || s.lease {
			do(action{kind: 'l', a: i}, func(c *world) {
				if !s.lease {
					c.left.mistakes--
				}
				o := c.change(i)
				o.leads, o.decided, o.granted = false, true, 0
			})
		}
		if s.lease && w.left.renewals > 0 {
			w.renewals(i, n, do)
		}
		return
	}
	if !n.m.Ready(frozen) || !n.m.IsEligible(testID(i)) {
		return
	}
	mayStart := w.left.elections > 0 && (!s.lease || !w.hasGranted(i, -1))
	switch {
	case mayStart && s.atomic:
		w.wholeElections(i, n, do)
	case mayStart && int(n.term) < s.maxTerm:
		do(action{kind: 'c', a: i}, func(c *world) {
			c.left.elections--
			o := c.change(i)
			o.term, o.vote, o.decided, o.stands = o.term+1, int8(i), false, true
			c.add(newFact(factCandidate, i, int(o.term), int(o.m.config.ID.Term), int(o.m.config.ID.Version)))
		})
	}
	if n.stands {
		w.wins(i, n, do)
	}
}

// mayVote reports whether voter v may vote for candidate c: the config of v is of the same cluster and not newer (A2).
func (w *world) mayVote(v, c *node) bool {
	isSame := v.m.config.Cluster == c.m.config.Cluster
	return isSame && (v.m.config.ID.Compare(c.m.config.ID) <= 0 || w.s.helpsOlder)
}

// quorums returns the smallest quorums of a set that contain i.
func quorums(all nodeSet, i int) (sets []nodeSet) {
	for q := nodeSet(1); q <= all && q != 0; q++ {
		if q&^all == 0 && q.has(i) && q.size() == all.quorum() {
			sets = append(sets, q)
		}
	}
	return sets
}

// wholeElections are the steps in which a quorum elects node i at once.
func (w *world) wholeElections(i int, n *node, do func(action, func(*world))) {
	for _, q := range quorums(votersOf(n.m.config.Members), i) {
		term, helps := n.term, true
		for v, o := range w.nodes {
			if q.has(v) {
				term = max(term, o.term)
				helps = helps && w.mayVote(o, n) && !o.isDead() && !o.mute && o.m.Ready(frozen)
			}
		}
		if !helps || int(term)+1 > w.s.maxTerm {
			continue
		}
		do(action{kind: 'E', a: i, b: int(q)}, func(c *world) {
			c.left.elections--
			for v := range c.nodes {
				if q.has(v) {
					o := c.change(v)
					o.term, o.vote, o.decided, o.leads, o.stands = term+1, int8(i), true, false, false
				}
			}
			c.win(i, q)
		})
	}
}

func (w *world) wins(i int, n *node, do func(action, func(*world))) {
	tally := one(i)
	for _, f := range w.facts {
		if f.kind() != factVote || f.part(1) != i || f.part(2) != int(n.term) {
			continue
		}
		v := w.nodes[f.part(0)]
		if !w.s.lease || v.term == n.term && v.vote == int8(i) {
			tally |= one(f.part(0))
		}
	}
	all := votersOf(n.m.config.Members)
	if (tally & all).size() >= all.quorum() {
		do(action{kind: 'w', a: i}, func(c *world) { c.win(i, tally&all) })
	}
}

// hasGranted reports whether node v has granted a lease to another node, except for node to.
func (w *world) hasGranted(v, to int) bool {
	for i, o := range w.nodes {
		if i != v && i != to && o.leads && o.granted.has(v) {
			return true
		}
	}
	return false
}

func (w *world) win(i int, granted nodeSet) {
	n := w.change(i)
	for _, f := range w.facts {
		if f.kind() == factWin && f.part(0) == int(n.term) && f.part(1) != i {
			w.violate("n%d and n%d lead in term %d", f.part(1)+1, i+1, n.term)
		}
	}
	if w.commit.ID.Term < n.term && w.commit.ID.Compare(n.m.config.ID) > 0 {
		w.violate("n%d leads in term %d with %s, and %s is committed", i+1, n.term, format(n.m.config), format(w.commit))
	}
	if w.s.listed {
		w.recordElected(i, n.m.config)
	}
	id := n.m.config.ID
	w.add(newFact(factWin, int(n.term), i, int(id.Term), int(id.Version)))
	n.leads, n.stands, n.decided, n.claims, n.granted = true, false, true, 0, granted
	w.step(i, 0, func(*Dynamic) {})
}

// recordElected records the config of an elected node. It checks that one list bootstraps one cluster.
func (w *world) recordElected(i int, c Config) {
	if !w.elected.Cluster.IsZero() && w.elected.Cluster != c.Cluster {
		w.violate("n%d leads a second cluster", i+1)
	}
	if c.ID.Compare(w.elected.ID) > 0 {
		w.elected = c
	}
}

// renewals are the steps in which a quorum renews the lease of leader i.
func (w *world) renewals(i int, n *node, do func(action, func(*world))) {
	all := votersOf(n.m.config.Members)
	may := one(i)
	for v, o := range w.nodes {
		isVoter := v != i && all.has(v) && !o.isDead() && o.m.Ready(frozen) && !o.leads
		if isVoter && o.term <= n.term && w.mayVote(o, n) && !w.hasGranted(v, i) {
			may |= one(v)
		}
	}
	for _, q := range quorums(all, i) {
		if q&^may != 0 || q == n.granted {
			continue
		}
		do(action{kind: 'g', a: i, b: int(q)}, func(c *world) {
			c.left.renewals--
			for v := range c.nodes {
				if v == i || !q.has(v) {
					continue
				}
				o := c.change(v)
				if o.term < n.term {
					o.term, o.vote, o.stands = n.term, int8(i), false
				}
				o.decided = true
			}
			c.change(i).granted = q
			c.step(i, 0, func(*Dynamic) {})
		})
	}
}

// delivery is the step in which node i receives message f.
func (w *world) delivery(i int, n *node, f fact, do func(action, func(*world))) {
	isWriter := n.leads || n.claims > 0
	receive := func(kind byte, from int, suspects nodeSet, message algo.Message) {
		do(action{kind: kind, a: i, b: f.part(0)}, func(c *world) {
			c.step(i, suspects, func(m *Dynamic) {
				w.discover(m, from)
				m.Receive(frozen, testID(from), message)
			})
		})
	}
	switch f.kind() {
	case factUpdate:
		w.updates(i, n, f, do)
	case factAck:
		if isWriter && n.m.config.ID == f.configID(1) && !n.m.committed && f.part(0) != i {
			receive('a', f.part(0), 0, Ack{f.configID(1)})
		}
	case factSelf:
		if isWriter && f.part(0) != i {
			suspects := nodeSet(0)
			if w.s.absent > 0 || len(w.s.emptied) > 0 {
				suspects = w.dead()
			}
			receive('s', f.part(0), suspects, Self{Member: w.nodes[f.part(0)].m.options.Self, Holds: f.configID(1)})
		}
	case factRemove:
		if isWriter && n.m.config.Has(testID(f.part(0))) {
			do(action{kind: 'r', a: i, b: f.part(0)}, func(c *world) {
				c.step(i, 0, func(m *Dynamic) { m.Receive(frozen, m.config.Members[0].ID, RemoveRequest{testID(f.part(0))}) })
			})
		}
	case factBootstrapRequest:
		isNewer := w.nodes[f.part(0)].life > n.m.listBootstrap.repliedToIncarnation
		isUnanswered := !w.hasFact(newFact(factBootstrapReply, i, f.part(0)))
		if f.part(0) != i && n.m.isBlank() && !n.deaf.has(f.part(0)) && (isNewer || isUnanswered) {
			receive('q', f.part(0), 0, BootstrapRequest{})
		}
	case factBootstrapReply:
		if f.part(1) == i && n.m.isFirst() && !n.deaf.has(f.part(0)) {
			receive('y', f.part(0), 0, BootstrapReply{w.nodes[f.part(0)].m.options.Self})
		}
	case factCandidate:
		w.votes(i, n, f, do)
	}
}

func (w *world) hasFact(f fact) bool {
	_, found := slices.BinarySearch(w.facts, f)
	return found
}

func (w *world) updates(i int, n *node, f fact, do func(action, func(*world))) {
	c := f.config()
	order := c.ID.Compare(n.m.config.ID)
	isKnown := order < 0 || order == 0 && n.m.committed
	isOther := !n.m.isBlank() && c.Cluster != n.m.config.Cluster && w.s.without&r16 == 0
	if isKnown || isOther {
		return
	}
	from := testID(98) // any holder
	if f.part(3) == 1 {
		from = c.Author
	}
	if n.deaf.has(indexOf(from)) {
		return
	}
	do(action{'u', i, configTable.number(c), f.part(2)}, func(w *world) {
		w.step(i, 0, func(m *Dynamic) { m.Receive(frozen, from, Update{c, f.part(2) == 1}) })
	})
}

func (w *world) votes(i int, n *node, f fact, do func(action, func(*world))) {
	candidate, term := f.part(0), algo.Epoch(f.part(1))
	isSpent := term < n.term || term == n.term && (n.decided || n.vote >= 0)
	if candidate == i || !n.m.Ready(frozen) || isSpent || w.s.lease && (n.leads || w.hasGranted(i, candidate)) {
		return
	}
	if w.nodes[candidate].m.config.Cluster != n.m.config.Cluster || n.m.config.ID.Compare(f.configID(2)) > 0 && !w.s.helpsOlder {
		return
	}
	do(action{'v', i, candidate, int(term)}, func(c *world) {
		o := c.change(i)
		if o.leads && w.s.lingers {
			o.claims = o.term
		}
		o.term, o.vote, o.decided, o.leads, o.stands, o.granted = term, int8(candidate), false, false, false, 0
		c.add(newFact(factVote, i, candidate, int(term)))
	})
}
