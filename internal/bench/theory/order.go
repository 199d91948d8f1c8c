package theory

import "slices"

// lost is l of theory.md.
func (e Election) lost() int {
	if e.Crashed == 1 && e.highestStarts() {
		return 0
	}
	return e.Crashed
}

// Descending returns the order of the ring with the highest cost when all start.
func Descending(n int) []int {
	order := make([]int, n)
	for at := range order {
		order[at] = n - at
	}
	return order
}

// living returns the ranks of the live processes, in the order of the ring.
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

// descending reports whether the ring is against the order of ranks.
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

// Before returns the rank of the process before rank in the ring, crashed or alive.
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

// Hops is d: the number of hops clockwise over the live processes from the initiator to the
// highest live process. If several start, it counts from the nearest.
func (e Election) Hops() int {
	ring := e.living()
	at := slices.Index(ring, e.Live())
	for hops := range ring {
		if e.Starts(ring[(at-hops+len(ring))%len(ring)]) {
			return hops
		}
	}
	return 0 // unreachable: isPossible rejects an election that no process starts
}

// ways returns the number of Election messages in a ring without crashed processes.
//
// An initiator sends a token. Any other process joins when the first token arrives, from the
// nearest initiator behind it. If its rank is above all ranks since that initiator, it sends its own
// token. Otherwise it forwards the token, and later swallows tokens of lower rank.
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

// below reports whether a higher process stands between the place at and the nearest initiator
// before it, the initiator included.
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
