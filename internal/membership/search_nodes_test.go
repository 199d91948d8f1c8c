package membership

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
)

// noon is what time it is, always: when time passes, all times that a machine knows are that much
// earlier. Nodes that differ only in when things happened are one.
const noon = time.Hour

// What happens to one node.
const (
	starts = iota
	crashes
	hears  // a frame
	ups    // a connection stands
	downs  // or does no more
	minds  // what is suspected has changed
	shifts // time passes
	wakes
	removes
	misses // a dial failed
	shows  // a heartbeat
)

// event is one of them. What of it has no meaning is zero.
type event struct {
	what    int
	peer    int
	message uint16
	life    int
	digest  uint64
	addr    string
	after   time.Duration
}

// local is a node as it is in many states. It is never changed: to have something happen to it is to
// have it happen to a copy.
type local struct {
	*node
	due    time.Duration // when it is to be woken
	roster int           // that it has saved, in explorer.rosters
}

// output is what a node has its host do.
type output struct {
	from, to int
	message  uint16
	dials    string
}

// outcome is what comes of a question.
type outcome struct {
	locals [three]uint32 // one for an event, all for an election
	out    []output
	leads  algo.Epoch // who called for an election, in that epoch
}

// question is what may be asked again and again, and has one answer.
type question struct {
	locals [three]uint32 // one, or all
	alive  uint8
	event
}

func (x *explorer) time() time.Duration { return noon }

func (x *explorer) saved(*node, Roster) {}

func (x *explorer) gone(*node) {}

func (x *explorer) reaches(_ *node, i int) bool { return x.alive>>i&1 == 1 }

func (x *explorer) dial(n *node, addr string) { x.out = append(x.out, output{from: n.i, dials: addr}) }

func (x *explorer) note(format string, of ...any) {
	if x.tells {
		x.story = append(x.story, fmt.Sprintf(format, of...))
	}
}

func (x *explorer) send(n *node, to int, m algo.Message) {
	if to <= three {
		x.out = append(x.out, output{from: n.i, to: to, message: x.message(m)})
	}
}

// copied is a node for something to happen to.
func (x *explorer) copied(number uint32) *node {
	n := *x.locals[number].node
	n.w, n.disk, n.links = x, maps.Clone(n.disk), map[int]bool{}
	n.m = n.m.copied(&n)
	return &n
}

// copied is a machine that shares nothing that is ever changed.
func (m *Machine) copied(env Env) *Machine {
	c := *m
	c.env = env
	c.links, c.told, c.asked, c.outside = maps.Clone(m.links), maps.Clone(m.told), maps.Clone(m.asked), maps.Clone(m.outside)
	c.stood, c.holders, c.doubted, c.first.silent = maps.Clone(m.stood), maps.Clone(m.holders), maps.Clone(m.doubted), maps.Clone(m.first.silent)
	c.contacts, c.queue, c.owed, c.wishes.strike = slices.Clone(m.contacts), slices.Clone(m.queue), slices.Clone(m.owed), slices.Clone(m.wishes.strike)
	c.doom.by, c.doom.not = slices.Clone(m.doom.by), slices.Clone(m.doom.not)
	return &c
}

// shift lets time pass for a machine, and forgets what makes no difference any more: how long ago
// something was, beyond what is asked, and how often something was tried.
func (m *Machine) shift(by time.Duration) {
	earlier := func(at *time.Duration, least time.Duration) {
		if *at != never {
			*at = max(*at-by, noon+least)
		}
	}
	for id, l := range m.links {
		earlier(&l.asked, -2*fresh)
		m.links[id] = l
	}
	for id, t := range m.told {
		earlier(&t.at, -pause)
		m.told[id] = t
	}
	for id, s := range m.stood {
		if s.until > 0 {
			earlier(&s.until, 0)
		}
		m.stood[id] = s
	}
	for id, at := range m.doubted {
		earlier(&at, -time.Second)
		m.doubted[id] = at
	}
	for i := range m.contacts {
		c := &m.contacts[i]
		earlier(&c.at, 0)
		c.tries = min(c.tries, 10+c.tries%10)
	}
	earlier(&m.wishes.again, 0)
	m.wishes.tries = min(m.wishes.tries, 5)
	earlier(&m.doom.since, -2*m.doubt())
	earlier(&m.doom.until, 0)
	earlier(&m.resigned, 0)
	earlier(&m.standAt, 0)
	earlier(&m.repays, 0)
	earlier(&m.first.at, 0)
	if earlier(&m.vacant, -m.config.Patience); m.config.Quorum && m.vacant != never {
		m.vacant = 0
	}
	if earlier(&m.until, 0); !m.guest && m.Confirmed() {
		m.until = 0
	}
}

// local is the number of a node, which is frozen with it.
func (x *explorer) local(n *node) uint32 {
	due := never
	if n.up {
		n.m.shift(0)
		due = n.m.Deadline() // which may find out that nobody is owed anything
	} else {
		n.m, n.runs, n.leader, n.view = &Machine{}, false, algo.Leader{}, algo.View{} // it keeps what is saved
	}
	m := *n.m
	m.env, m.config, m.view = nil, Config{}, algo.View{} // those follow from the rest
	print := host.FingerprintOf(n.i, n.up, n.runs, n.life, n.leader, n.taken, n.disk, n.ended, m)
	number, found := x.numbers[print]
	if !found {
		number = uint32(len(x.locals))
		x.numbers[print] = number
		l := local{node: n, due: due, roster: -1}
		if r, ok := n.disk["view"].(Roster); ok {
			l.roster = x.roster(r)
		}
		x.locals = append(x.locals, l)
	}
	return number
}

// roster is the number of a roster, as message is that of a message.
func (x *explorer) roster(r Roster) int {
	print := host.FingerprintOf(r)
	number, found := x.numbers[print]
	if !found {
		number = uint32(len(x.rosters))
		x.numbers[print] = number
		x.rosters = append(x.rosters, judged{r, fmt.Sprint(r.Entries, r.Strikes)})
	}
	return int(number)
}

func (x *explorer) message(m algo.Message) uint16 {
	print := host.FingerprintOf("message", m)
	number, found := x.numbers[print]
	if !found {
		number = uint32(len(x.messages))
		if number > 65_535 {
			x.t.Fatal("too many messages")
		}
		x.numbers[print] = number
		shown := -1
		if r, ok := m.(Roster); ok {
			shown = x.roster(r)
		}
		x.messages, x.shows = append(x.messages, m), append(x.shows, shown)
	}
	return uint16(number)
}

func (x *explorer) node(s *state, i int) *local { return &x.locals[s.locals[i-1]] }

func (x *explorer) living(s *state) (alive uint8) {
	for i := 1; i <= three; i++ {
		if x.node(s, i).up {
			alive |= 1 << i
		}
	}
	return alive
}

// perform has an event happen to a node.
func (x *explorer) perform(n *node, e event) {
	switch e.what {
	case starts:
		n.start()
	case crashes:
		n.crash()
	case hears:
		n.hear(e.peer, x.messages[e.message])
	case ups:
		n.do(func() { n.m.Up(noon, id(e.peer), uint64(e.life), e.digest, e.addr) })
	case downs:
		n.do(func() { n.m.Down(noon, id(e.peer)) })
	case minds:
		n.do(func() {})
	case shifts:
		n.m.shift(e.after)
	case wakes:
		n.do(func() { n.m.Wake(noon) })
	case removes:
		n.do(func() { _ = n.m.Remove(noon, id(e.peer)) })
	case misses:
		n.do(func() { n.m.Missed(id(e.peer), e.addr, Silence) })
	case shows:
		n.Show(id(e.peer))
		n.do(func() {})
	}
}

// ask returns what comes of a question, which is always the same.
func (x *explorer) ask(q question, work func(o *outcome)) *outcome {
	if o, known := x.outcomes[q]; known && !x.tells {
		return o
	}
	o := &outcome{}
	x.alive, x.out = q.alive, nil
	work(o)
	o.out = x.out
	x.outcomes[q] = o
	return o
}

// happens has an event happen to node i, and what follows.
func (x *explorer) happens(s *state, i int, e event) {
	was := x.node(s, i).up
	o := x.ask(question{locals: [three]uint32{s.locals[i-1]}, alive: x.living(s), event: e}, func(o *outcome) {
		n := x.copied(s.locals[i-1])
		x.perform(n, e)
		o.locals[0] = x.local(n)
	})
	s.locals[i-1] = o.locals[0]
	if was && !x.node(s, i).up {
		x.leaves(s, i)
		return
	}
	x.emit(s, o.out)
}

// leaves ends the connections of a node that runs no more, and the others find out.
func (x *explorer) leaves(s *state, i int) {
	for j := 1; j <= three; j++ {
		if j != i && !x.hangUp(s, i, j) && x.node(s, j).up {
			x.happens(s, j, event{what: minds})
		}
	}
}

// pair is the connection of two nodes, as one of state.links.
func pair(i, j int) uint8 { return 1 << (min(i, j) - 1 + max(i, j) - 2) }

func (s *state) queue(from, to int) *[]uint16 { return &s.frames[(from-1)*three+to-1] }

// hangUp ends a connection, and reports whether there was one.
func (x *explorer) hangUp(s *state, i, j int) bool {
	if s.links&pair(i, j) == 0 {
		return false
	}
	s.links &^= pair(i, j)
	*s.queue(i, j), *s.queue(j, i) = nil, nil
	for _, e := range [][2]int{{j, i}, {i, j}} {
		if x.node(s, e[0]).up {
			x.happens(s, e[0], event{what: downs, peer: e[1]})
		}
	}
	return true
}

// connect has a connection stand, to the address that was dialled if there is one.
func (x *explorer) connect(s *state, i, j int, addr string) {
	if s.links&pair(i, j) != 0 {
		return
	}
	s.links |= pair(i, j)
	a, b := x.node(s, i), x.node(s, j)
	x.happens(s, j, event{what: ups, peer: i, life: a.life, digest: a.m.Digest()})
	if s.links&pair(i, j) != 0 {
		x.happens(s, i, event{what: ups, peer: j, life: b.life, digest: b.m.Digest(), addr: addr})
	}
}

// emit does what nodes have their hosts do.
func (x *explorer) emit(s *state, out []output) {
	for _, o := range out {
		if o.dials != "" {
			for j := 1; j <= three; j++ {
				switch peer := x.node(s, j); {
				case j == o.from || peer.config.Self.Addr != o.dials || s.links&pair(o.from, j) != 0:
				case peer.up:
					x.connect(s, o.from, j, o.dials)
				default:
					x.happens(s, o.from, event{what: misses, peer: j, addr: o.dials})
				}
			}
			continue
		}
		if x.node(s, o.to).up && x.node(s, o.from).m.View().Contains(id(o.to)) {
			x.connect(s, o.from, o.to, "")
		}
		if s.links&pair(o.from, o.to) != 0 {
			q := s.queue(o.from, o.to)
			if *q = append(*q, o.message); len(*q) > 255 {
				x.t.Fatalf("%v: n%d never ends telling n%d", x.world, o.from, o.to)
			}
		}
	}
}

// mayCall reports whether a node may call for an election.
func (x *explorer) mayCall(s *state, i int) bool {
	n := x.node(s, i)
	return n.up && n.runs && n.view.MayLead(id(i))
}

// mayStart reports whether a node may start: at first, or after a crash.
func (x *explorer) mayStart(s *state, i int) bool {
	n := x.node(s, i)
	return !n.up && n.ended == (End{})
}

// elects has node i call for an election, and reports whether it leads. It connects to all members.
func (x *explorer) elects(s *state, i int) bool {
	n := x.node(s, i)
	for j := 1; j <= three; j++ {
		if j != i && x.node(s, j).up && n.view.Contains(id(j)) {
			x.connect(s, i, j, "")
		}
	}
	o := x.ask(question{locals: s.locals, alive: x.living(s), event: event{what: -1, peer: i}}, func(o *outcome) {
		var nodes []*node
		for _, number := range s.locals {
			nodes = append(nodes, x.copied(number))
		}
		caller := nodes[i-1]
		both := func(a, b *node) bool { return a.up && b.up }
		drop := func(o *node) { o.do(func() { o.m.Spoken(noon, id(i)) }) }
		if caller.elect(nodes, x.quorum, both, drop) {
			o.leads = caller.leader.Epoch
		}
		for k, n := range nodes {
			o.locals[k] = x.local(n)
		}
	})
	before := x.living(s)
	s.locals = o.locals
	x.emit(s, o.out)
	for j := 1; j <= three; j++ {
		if before>>j&1 == 1 && !x.node(s, j).up {
			x.leaves(s, j)
		}
	}
	return o.leads > 0
}

// next is how long it is until somebody has something to do.
func (x *explorer) next(s *state) time.Duration {
	next := never
	for _, number := range s.locals {
		if due := x.locals[number].due; due != never {
			next = min(next, due-noon)
		}
	}
	return next
}

// passes lets so much time pass.
func (x *explorer) passes(s *state, after time.Duration) {
	for i := 1; i <= three; i++ {
		if x.node(s, i).up {
			x.happens(s, i, event{what: shifts, after: after})
		}
	}
}
