package algotest

import (
	"fmt"
	"slices"
	"time"
)

func addMember(p *probe) {
	p.upset("and one more joins, and two more at once", 3, func(w *world) {
		w.do("join n1")
		w.settle()
		w.do("join n2")
		w.do("join n4")
		w.settle()
		for _, n := range w.all() {
			if got := w.View(n).Len(); got != 6 {
				panic(fmt.Sprintf("algotest: n%d knows of %d members, want 6: the simulator does not let members in", n, got))
			}
		}
		w.each("crash", w.leader())
	})
	p.upset("and one more joins, which was alone before", 1, func(w *world) { w.do("join n1") })
}

// remove has an operator strike a member, at another that runs.
func (w *world) remove(gone int) {
	runs := func(n int) bool { _, up := w.Follows(n); return up && n != gone }
	all := w.all()
	w.do("remove n%d n%d", all[slices.IndexFunc(all, runs)], gone)
}

// removeMember removes one who follows, and one who is dead. Of four members without
// two, the rest is no majority; of the three that are left after a removal, it is.
func removeMember(p *probe) {
	p.try("and one who follows is removed", 4, func(w *world) {
		w.settle()
		gone := others(4, []int{w.leader()})[p.random.IntN(3)]
		w.remove(gone)
		w.settleOn(others(4, []int{gone}))
	})
	p.try("and one who is dead is removed, and then the leader dies", 4, func(w *world) {
		w.settle()
		dead := []int{1 + p.random.IntN(4)}
		w.each("crash", dead...)
		w.settle()
		w.remove(dead[0])
		w.settle()
		dead = append(dead, w.leader())
		w.each("crash", dead[1])
		w.settleOn(others(4, dead))
	})
}

func removeLeader(p *probe) {
	for _, alive := range []bool{true, false} {
		p.try(fmt.Sprintf("and the leader is removed, alive: %v", alive), 4, func(w *world) {
			w.settle()
			for left := 4; left > 2; left-- {
				leader := w.leader()
				if !alive {
					w.each("crash", leader)
				}
				w.remove(leader)
				w.settle()
			}
		})
	}
}

func resignation(p *probe) {
	within := p.options.Within
	p.upset("and the leader resigns for a while", 4, func(w *world) {
		leader := w.leader()
		w.do("resign n%d %v", leader, 4*within)
		w.settleOn(others(4, []int{leader}))
		w.Run(4 * within)
	})
	p.upset("and all resign for a while", 3, func(w *world) {
		for _, n := range w.all() {
			w.do("resign n%d %v", n, 2*within)
			w.pass(time.Second)
		}
		w.Run(within)
		w.sound()
		for _, n := range w.all() {
			// Where a majority is needed only a leader changes who may lead: the last stays.
			if l, _ := w.Follows(n); !l.Vacant() && !p.spec.Claims.NeedsQuorum {
				p.fatalf("nobody may lead, and still: %s", w.Opinions())
			}
		}
		w.Run(2 * within)
	})
}
