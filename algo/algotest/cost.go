package algotest

import (
	"fmt"

	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/sim"
)

// messages counts the messages of elections in clusters of several sizes. The perfect detector
// sends no messages.
func messages(p *checkRun) {
	for _, nodes := range []int{4, 12, 32} {
		p.try("counting messages", nodes, func(w *world) { w.count(p.options.Messages(nodes)) }, sim.Perfect)
	}
}

func (w *world) count(limit int) {
	w.p.Helper()
	const heartbeats = 20
	w.election("all start", limit, func() {})
	leader := w.leader()
	w.election("the leader crashes", limit, func() { w.each("crash", leader) })
	w.election("a former leader returns", limit, func() { w.each("restart", leader) })
	w.election("all campaign at the same time", limit, func() { w.each("campaign", w.all()...) })
	w.election("almost half of them crash", limit, func() { w.each("crash", w.all()[w.Nodes()/2+1:]...) })
	w.election("they return at the same time", limit, func() { w.each("restart", w.all()...) })
	w.election("all crash and start again", limit, func() {
		w.each("crash", w.all()...)
		w.each("restart", w.all()...)
	})

	before := w.Frames()
	w.Run(heartbeats * w.p.options.Timing.Heartbeat)
	if limit, sent := 2*w.Nodes()*heartbeats, int(w.Frames()-before); sent > limit {
		w.p.fatalf("without an election, %d periodic messages were sent in %d heartbeats, want at most %d", sent, heartbeats, limit)
	}
}

// election counts the messages of the election that follows an event.
func (w *world) election(event string, limit int, happens func()) {
	w.p.Helper()
	w.ResetCounts()
	happens()
	w.Run(w.p.options.Within)
	sent := w.Counts().Sent
	if sum := algosim.Total(sent); sum > limit {
		w.p.fatalf("%s, and %d messages are sent, %v; want at most %d", event, sum, sent, limit)
	}
	w.requireNoViolation()
}

// monitoredPairs counts the pairs of nodes of which one monitors the other.
func monitoredPairs(p *checkRun) {
	sizes := []int{3, 9, 18}
	if !p.options.Long {
		sizes = sizes[:2]
	}
	for _, nodes := range sizes {
		c := p.machines(nodes)
		dead := (nodes - 1) / 2
		for _, step := range []struct {
			when    string
			happens func()
		}{
			{"after the start", c.StartAll},
			{"after a failover", func() { c.Crash(algosim.Number(c.Leader(c.Live()[0]).ID)) }},
			{fmt.Sprintf("with %d crashed", dead), func() { c.Crash(c.Live()[:dead-1]...) }},
		} {
			step.happens()
			p.requireAgreed(c)
			pairs := 0
			for _, i := range c.Live() {
				pairs += len(c.Node(i).Monitored)
			}
			if limit := p.options.MonitoredPairs(nodes); pairs > limit {
				p.fatalf("%d nodes, %s: %d monitored pairs, want at most %d", nodes, step.when, pairs, limit)
			}
		}
	}
}
