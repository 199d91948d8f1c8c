package membership

import (
	"cmp"
	"fmt"
	"slices"
)

// judged is a roster as judge compares them.
type judged struct {
	Roster
	text string
}

// judge says what is broken in a state, as far as it says so itself: a roster that is saved, or on its
// way, and none like it should be.
func (x *explorer) judge(s *state) string {
	if s.spent[lied] > 0 {
		return ""
	}
	var present []int
	for i := 1; i <= three; i++ {
		n := x.node(s, i)
		if n.roster >= 0 {
			present = append(present, n.roster)
		}
		if n.ended.Removed && s.told>>i&1 == 0 {
			return fmt.Sprintf("n%d was removed, and nobody ordered it", i)
		}
	}
	if !x.quorum {
		return ""
	}
	saved := slices.Clone(present)
	for _, q := range s.frames {
		for _, m := range q {
			if x.shows[m] >= 0 {
				present = append(present, x.shows[m])
			}
		}
	}
	slices.Sort(present)
	present = slices.Compact(present)
	for _, a := range present {
		for _, b := range present {
			switch a, b := &x.rosters[a], &x.rosters[b]; {
			case a.Epoch == 0 || a == b:
			case a.Stamp() == b.Stamp() && a.text != b.text:
				return fmt.Sprintf("two rosters: %s and %s", show(a.Roster), show(b.Roster))
			case a.Confirmed && a.Stamp().Compare(b.Stamp()) < 0 && slices.ContainsFunc(a.Strikes, b.has):
				return fmt.Sprintf("a member again: %s and %s", show(a.Roster), show(b.Roster))
			}
		}
	}
	majorities := 0
	slices.Sort(saved)
	for _, r := range slices.Compact(saved) {
		holders := 0
		for i := 1; i <= three; i++ {
			if n := x.node(s, i); n.roster == r && x.rosters[r].has(id(i)) {
				holders++
			}
		}
		if holders >= x.rosters[r].quorum() {
			majorities++
		}
	}
	if majorities > 1 {
		return "two rosters, each with a majority of its members"
	}
	return ""
}

func (x *explorer) nodes(s *state) (nodes []*node) {
	for _, number := range s.locals {
		nodes = append(nodes, x.locals[number].node)
	}
	return nodes
}

// unsettled says what is still to happen where all is calm, or nothing.
func (x *explorer) unsettled(s *state) string {
	nodes := x.nodes(s)
	if s.spent[lied] > 0 && (lost(nodes, x.quorum) || x.living(s)&^(1<<x.liar) == 0) {
		return ""
	}
	if why := disagreement(nodes); why != "" {
		return why
	}
	for _, n := range nodes {
		if n.up && (n.m.wishes.again != never || !n.m.Confirmed()) {
			return fmt.Sprintf("n%d waits for something: %+v, %s", n.i, n.m.wishes, show(n.m.roster.Roster))
		}
	}
	return ""
}

// settles lets everything come to rest, and returns what is then not as it should be. Who is down
// starts again, if it may, or stays down; and somebody is elected. Who has lied is removed first, and
// stopped.
func (x *explorer) settles(s state, stay bool) (broken string) {
	const most = 3000
	var path []mark
	beaten, liar, done, turn := false, s.spent[lied] > 0, false, 0
	for step := 0; !done; step++ {
		at := s.mark(stay, beaten, liar, turn == 0, turn == 1)
		if x.calm[at] {
			break
		}
		if step > most {
			return "in the end " + cmp.Or(x.unsettled(&s), "it does not come to rest")
		}
		path = append(path, at)
		soon, any := x.soon(&s, stay, liar)
		switch {
		case any:
			x.apply(&s, soon)
		case !beaten:
			beaten = true
			x.rouse(&s, turn)
			turn = (turn + 1) % three
		case liar && step < most/2 && x.accuse(&s):
			beaten = false
			x.passes(&s, min(x.next(&s), pause))
		case liar:
			if liar = false; x.node(&s, x.liar).up {
				x.happens(&s, x.liar, event{what: crashes})
			}
		case x.unsettled(&s) == "", stay && (x.lost(&s) || disagreement(x.nodes(&s)) == ""):
			done = true // an order may have to wait for who is down
		case disagreement(x.nodes(&s)) == "" && x.next(&s) != never:
			x.passes(&s, x.next(&s))
		default:
			beaten = false
			x.passes(&s, min(x.next(&s), pause))
		}
	}
	for _, at := range path {
		x.calm[at] = true
	}
	return ""
}

// lost reports whether those who live may be unable to go on: nobody of them was let in, or they are no
// majority of a roster that one of them has, nor of the one before it that it can go back to.
func (x *explorer) lost(s *state) bool {
	nodes, members := x.nodes(s), false
	majority := func(r Roster) bool {
		there := 0
		for _, e := range r.Entries {
			if nodes[number(e.ID)-1].up {
				there++
			}
		}
		return there >= r.quorum()
	}
	for _, n := range nodes {
		if !n.up || n.m.joining() {
			continue
		}
		members = true
		if before, changing := n.m.before(); x.quorum && !majority(n.m.Roster()) && !(changing && majority(before)) {
			return true
		}
	}
	return !members
}

// settlesWithout is that of who is up, if somebody has crashed.
func (x *explorer) settlesWithout(s *state) (broken string) {
	for i := 1; i <= three; i++ {
		if n := x.node(s, i); x.mayStart(s, i) && n.life > 0 && s.spent[lied] == 0 {
			return x.settles(s.copied(), true)
		}
	}
	return ""
}

// soon is what happens next where all is calm, if anything does.
func (x *explorer) soon(s *state, stay, liar bool) (a action, any bool) {
	if a, any = x.due(s); any {
		return a, true
	}
	for i := 1; i <= x.founders+x.joiners; i++ {
		gone := stay && x.node(s, i).life > 0 || i == x.liar && s.spent[lied] > 0 && !liar
		if !gone && x.mayStart(s, i) {
			return action{start, i, 0}, true
		}
	}
	return a, false
}

// due is a frame that is on its way, or who is to be woken.
func (x *explorer) due(s *state) (a action, any bool) {
	for i := 1; i <= three; i++ {
		for j := 1; j <= three; j++ {
			if len(*s.queue(i, j)) > 0 {
				return action{deliver, i, j}, true
			}
		}
		if x.node(s, i).due <= noon {
			a, any = action{wake, i, 0}, true
		}
	}
	return a, any
}

// beat has leaders and those who follow show each other what they know.
func (x *explorer) beat(s *state) {
	for i := 1; i <= three; i++ {
		if j := number(x.node(s, i).leader.ID); x.node(s, i).up && j > 0 && j != i && x.node(s, j).up {
			x.happens(s, i, event{what: shows, peer: j})
			x.happens(s, j, event{what: shows, peer: i})
		}
	}
}

// rouse has somebody elected, if nobody leads, and else heartbeats be sent. Whose turn it is calls first.
func (x *explorer) rouse(s *state, turn int) {
	if leads(x.nodes(s)) {
		x.beat(s)
		return
	}
	for i := range three {
		i = (i+turn)%three + 1
		if x.mayCall(s, i) && x.elects(s, i) {
			return
		}
	}
}

// accuse has all order the removal of who has lied, and reports whether anybody knows it as a member.
func (x *explorer) accuse(s *state) (member bool) {
	for i := 1; i <= three; i++ {
		if n := x.node(s, i); i != x.liar && n.up && n.m.roster.has(id(x.liar)) {
			member = true
			if len(n.m.wishes.strike) == 0 {
				x.happens(s, i, event{what: removes, peer: x.liar})
			}
		}
	}
	return member
}
