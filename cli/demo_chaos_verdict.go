package cli

import (
	"cmp"
	"slices"
	"time"

	"github.com/elect-go/elect/internal/stats"
)

// wakeTime is the time in which the watchdog of a frozen member ends the command, once both continue.
const wakeTime = time.Second

// freeze is the time for which all processes of a member were paused.
type freeze struct {
	node        string
	began, woke int64
}

// failover is the beginning of the work of another leadership.
type failover struct {
	from, to shift
	noWork   time.Duration // before it: since any process worked
}

// verdict sums up the work of a cluster.
type verdict struct {
	failovers []failover
	two       time.Duration // for which at least two processes worked, without woken
	woken     time.Duration // for which two worked because one had been frozen with its watchdog
	none      time.Duration // for which no process worked, from the first work on
}

// judge computes the verdict from shifts, in the order in which they began. It ignores what begins after the time
// until, except for two processes that work at once: the end of the members must not lead to that either.
func judge(shifts []shift, freezes []freeze, until int64) (v verdict) {
	type edge struct {
		at         int64
		all, fresh int // changes of the numbers of working processes
	}
	var edges []edge
	add := func(begin, end int64, fresh int) {
		if begin < end {
			edges = append(edges, edge{begin, 1, fresh}, edge{end, -1, -fresh})
		}
	}
	for i, s := range shifts {
		if i > 0 && s.begin() <= until {
			v.failovers = append(v.failovers, failoverTo(shifts, i))
		}
		for _, p := range s.periods {
			woke := wokenUntil(s, p, freezes)
			add(p.begin, woke, 0)
			add(max(p.begin, woke), p.end, 1)
		}
	}
	// Of two edges at the same time, the end comes first: those two did not work at once.
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.all, b.all)) })
	all, fresh := 0, 0
	for i, e := range edges {
		all, fresh = all+e.all, fresh+e.fresh
		next := until
		if i+1 < len(edges) {
			next = edges[i+1].at
		}
		switch took := time.Duration(next - e.at); {
		case fresh >= 2:
			v.two += took
		case all >= 2:
			v.woken += took
		case all == 0:
			v.none += max(0, time.Duration(min(next, until)-e.at))
		}
	}
	return v
}

// failoverTo returns the failover that ends with the beginning of a shift, from the process that worked last before.
func failoverTo(shifts []shift, i int) failover {
	f := failover{from: shifts[0], to: shifts[i]}
	begin := f.to.begin()
	var last int64
	for j, s := range shifts {
		for _, p := range s.periods {
			if j != i && p.begin < begin && p.end > last {
				last, f.from = p.end, s
			}
		}
	}
	f.noWork = time.Duration(max(0, begin-last))
	return f
}

// wokenUntil returns the end of the part of a period in which its process worked because it had been frozen; the
// beginning of the period if there is no such part.
func wokenUntil(s shift, p period, freezes []freeze) int64 {
	for _, f := range freezes {
		if limit := f.woke + int64(wakeTime); f.node == s.node && s.begin() < f.began && f.began < p.begin && p.begin < limit {
			return min(p.end, limit)
		}
	}
	return p.begin
}

// noWorkQuantile returns a quantile of the times without work before the failovers.
func (v verdict) noWorkQuantile(q float64) time.Duration {
	times := make([]time.Duration, len(v.failovers))
	for i, f := range v.failovers {
		times[i] = f.noWork
	}
	return stats.Quantile(times, q)
}
