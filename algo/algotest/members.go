package algotest

import (
	"fmt"
	"slices"
	"time"
)

func addMember(p *checkRun) {
	p.disturb("and one more joins, and two more at once", 3, func(w *world) {
		w.do("join n1")
		w.waitAgreed()
		w.do("join n2")
		w.do("join n4")
		w.waitAgreed()
		for _, n := range w.all() {
			if got := w.View(n).Len(); got != 6 {
				panic(fmt.Sprintf("algotest: n%d has %d members in its view, want 6: joins in the simulator do not work", n, got))
			}
		}
		w.each("crash", w.leader())
	})
	p.disturb("and one more joins, which was alone before", 1, func(w *world) { w.do("join n1") })
}

// remove removes a member, by a request to another member that runs.
func (w *world) remove(removed int) {
	runs := func(n int) bool { _, up := w.Follows(n); return up && n != removed }
	all := w.all()
	w.do("remove n%d n%d", all[slices.IndexFunc(all, runs)], removed)
}

// removeMember removes a follower, and then a crashed member. Two of four members are no majority.
// Two of the three that remain after a removal are.
func removeMember(p *checkRun) {
	p.try("and a follower is removed", 4, func(w *world) {
		w.waitAgreed()
		follower := others(4, []int{w.leader()})[p.random.IntN(3)]
		w.remove(follower)
		w.waitLeaderAmong(others(4, []int{follower}))
	})
	p.try("and a crashed member is removed, and then the leader crashes", 4, func(w *world) {
		w.waitAgreed()
		crashed := []int{1 + p.random.IntN(4)}
		w.each("crash", crashed...)
		w.waitAgreed()
		w.remove(crashed[0])
		w.waitAgreed()
		crashed = append(crashed, w.leader())
		w.each("crash", crashed[1])
		w.waitLeaderAmong(others(4, crashed))
	})
}

func removeLeader(p *checkRun) {
	for _, alive := range []bool{true, false} {
		p.try(fmt.Sprintf("and the leader is removed, alive: %v", alive), 4, func(w *world) {
			w.waitAgreed()
			for left := 4; left > 2; left-- {
				leader := w.leader()
				if !alive {
					w.each("crash", leader)
				}
				w.remove(leader)
				w.waitAgreed()
			}
		})
	}
}

func resignation(p *checkRun) {
	within := p.options.Within
	p.disturb("and the leader resigns for a while", 4, func(w *world) {
		leader := w.leader()
		w.do("resign n%d %v", leader, 4*within)
		w.waitLeaderAmong(others(4, []int{leader}))
		w.Run(4 * within)
	})
	p.disturb("and all resign for a while", 3, func(w *world) {
		for _, n := range w.all() {
			w.do("resign n%d %v", n, 2*within)
			w.pass(time.Second)
		}
		w.Run(within)
		w.requireNoViolation()
		for _, n := range w.all() {
			// With NeedsQuorum, only a leader changes which members are eligible, so the last one stays.
			if l, _ := w.Follows(n); !l.IsVacant() && !p.spec.Claims.NeedsQuorum {
				p.fatalf("no member is eligible, but there is a leader: %s", w.Opinions())
			}
		}
		w.Run(2 * within)
	})
}
