package theory

import "slices"

// lost is l.
func (e Election) lost() int {
	if e.Crashed == 1 && e.highestStarts() {
		return 0
	}
	return e.Crashed
}

// Descending is the order of the ring that costs most when all start.
func Descending(n int) []int {
	order := make([]int, n)
	for at := range order {
		order[at] = n - at
	}
	return order
}

// living is the ranks of those that live, in the order of the ring.
func (e Election) living() []int {
	var ring []int
	for at := range e.N {
		rank := at + 1
		if e.Order != nil {
			rank = e.Order[at]
		}
		if rank <= e.Live() {
			ring = append(ring, rank)
		}
	}
	return ring
}

// ascending reports whether the ring is in the order of ranks, wherever it begins.
func (e Election) ascending() bool { return e.goes(+1) }

// descending reports whether it is against that order.
func (e Election) descending() bool { return e.goes(-1) }

func (e Election) goes(by int) bool {
	if e.Order == nil {
		return by > 0 || e.N <= 2
	}
	for at, rank := range e.Order {
		if next := e.Order[(at+1)%e.N]; (rank-1+by+e.N)%e.N != next-1 {
			return false
		}
	}
	return true
}

// Before is the rank of who stands before a rank in the ring, dead or alive.
func (e Election) Before(rank int) int {
	at := rank - 1
	if e.Order != nil {
		at = slices.Index(e.Order, rank)
	}
	if at = (at - 1 + e.N) % e.N; e.Order != nil {
		return e.Order[at]
	}
	return at + 1
}

// Hops is d: how far it is clockwise, over those that live, from who starts to the
// highest that lives; from the nearest where several start.
func (e Election) Hops() int {
	ring := e.living()
	at := slices.Index(ring, e.Live())
	for hops := range ring {
		if e.Starts(ring[(at-hops+len(ring))%len(ring)]) {
			return hops
		}
	}
	return 0 // nobody starts; sound has seen to it
}

// ways is how many Election messages there are in a ring that nobody is missing from.
//
// A process that starts sends a token. Another wakes up when the first token comes, which
// began at the nearest behind it that starts; then it sends its own if it is above all
// from there on, and if not it passes on, and swallows later what is below it.
func (e Election) ways() int {
	ring := e.living()
	size := len(ring)
	sum := 0
	for at, rank := range ring {
		if !e.Starts(rank) && e.below(ring, at) {
			continue
		}
		way := 1
		for way < size && ring[(at+way)%size] < rank {
			way++
		}
		sum += way
	}
	return sum
}

// below reports whether a higher one stands between that place and the nearest before
// it that starts, which is among them.
func (e Election) below(ring []int, at int) bool {
	for back := 1; ; back++ {
		before := ring[(at-back+len(ring))%len(ring)]
		switch {
		case before > ring[at]:
			return true
		case e.Starts(before):
			return false
		}
	}
}
