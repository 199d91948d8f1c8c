package theory

import "slices"

const chang = "Chang and Roberts: An Improved Algorithm for Decentralized Extrema-Finding, 1979"

// ring is Chang and Roberts 1979.
//
// What all of its counts are made of: a token travels to the next process clockwise that
// is higher than its candidate, whoever stands between; there it is swallowed, or replaced
// by that process's own. So every token costs the way from its candidate to the next
// higher one, and that of the highest the whole ring. Elected goes round once.
func ring() []Row {
	return slices.Concat(ringOneStarts(), ringAllStart(), ringElectionsOnly(), ringCrashed())
}

// textbookRing is the same: what is for use costs nothing until something goes wrong.
func textbookRing() []Row {
	rows := ring()
	for at, r := range rows {
		if r.Convention.Name == ringDetector.Name {
			rows[at].Convention.Name = "textbook"
		}
	}
	return rows
}

// ringOneStarts is one that starts, with nobody crashed. The tokens of who starts, and
// of those that wake up on the way, cover the way to the highest just once: d messages.
func ringOneStarts() []Row {
	one := func(e Election) bool { return e.Crashed == 0 && e.N >= 2 && e.one() }
	typical := func(d func(n int) int) func(int) (Election, bool) {
		// In the order of ranks the highest is d hops ahead of rank N−d.
		return func(n int) (Election, bool) { return Election{N: n, Initiators: []int{n - d(n)}}, n >= 2 }
	}
	before := Row{
		Case: "one starts, the highest stands before it", Convention: ringDetector,
		Kinds: []Kind{{"election", "2N−1"}, {"elected", "N"}}, Sent: "3N−1", Delivered: "3N−1", Decided: "(2N−1)T", Turnaround: "(3N−2)T",
		Growth: "N", Source: coulouris + "; " + notes,
		Holds:   func(e Election) bool { return one(e) && e.Hops() == e.N-1 },
		Typical: typical(func(n int) int { return n - 1 }),
	}
	quiet := before
	quiet.Convention, quiet.Turnaround = ringQuiet, "(3N−1)T"
	quiet.Source = coulouris + ": \"the turnaround time is also 3N−1\""
	return []Row{
		{
			Case: "one starts, it is the highest", Convention: ringDetector,
			Kinds: []Kind{{"election", "N"}, {"elected", "N"}}, Sent: "2N", Delivered: "2N", Decided: "NT", Turnaround: "(2N−1)T",
			Growth: "N", Source: notes,
			Holds:   func(e Election) bool { return one(e) && e.highestStarts() },
			Typical: typical(func(int) int { return 0 }),
		},
		before,
		quiet,
		{
			Case: "one starts", Convention: ringDetector,
			Kinds: []Kind{{"election", "N+d"}, {"elected", "N"}}, Sent: "2N+d", Delivered: "2N+d", Decided: "(N+d)T", Turnaround: "(2N+d−1)T",
			Growth: "N", Source: derived,
			Holds: one, Typical: typical(func(n int) int { return n / 2 }),
		},
		{
			Case: "one starts, whoever", Convention: ringDetector, Mean: OverInitiators,
			// The mean of d = 0 … N−1 is (N−1)/2.
			Kinds: []Kind{{"election", "N + (N−1)/2"}, {"elected", "N"}},
			Sent:  "2N + (N−1)/2", Delivered: "2N + (N−1)/2", Decided: "(N + (N−1)/2)T", Turnaround: "(2N−1 + (N−1)/2)T",
			Growth: "N", Source: derived,
			Holds: one, Typical: typical(func(n int) int { return n / 2 }),
		},
	}
}

// ringAllStart is several that start, with nobody crashed. The highest starts at once, so
// its token is back after N hops whatever the order.
func ringAllStart() []Row {
	nobody := func(e Election) bool { return e.Crashed == 0 && e.N >= 2 }
	all := func(e Election) bool { return nobody(e) && e.everybodyStarts() }
	return []Row{
		{
			Case: "all start, in the order of their ranks", Convention: ringDetector,
			// Each but the highest stands before a higher one.
			Kinds: []Kind{{"election", "2N−1"}, {"elected", "N"}}, Sent: "3N−1", Delivered: "3N−1", Decided: "NT", Turnaround: "(2N−1)T",
			Growth: "N", Source: chang + "; " + notes,
			Holds:   func(e Election) bool { return all(e) && e.ascending() },
			Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
		},
		{
			Case: "all start, in a random order", Convention: ringDetector, Mean: OverOrders,
			// The highest but j, for j = 1 … N−1, has j higher ones scattered over the ring, and
			// N/(j+1) hops to the next of them on the mean; the highest has N.
			Kinds: []Kind{{"election", "N·H(N)"}, {"elected", "N"}},
			Sent:  "N·H(N)+N", Delivered: "N·H(N)+N", Decided: "NT", Turnaround: "(2N−1)T",
			Growth: "N log N", Source: chang,
			Holds: all, Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
		},
		{
			Case: "all start, against the order of their ranks", Convention: ringDetector,
			// The candidate of rank r passes all below it, r hops: 1 + 2 + … + N.
			Kinds: []Kind{{"election", "N(N+1)/2"}, {"elected", "N"}},
			Sent:  "N(N+1)/2 + N", Delivered: "N(N+1)/2 + N", Decided: "NT", Turnaround: "(2N−1)T",
			Growth: "N²", Source: chang + "; " + notes,
			Holds:   func(e Election) bool { return all(e) && e.descending() },
			Typical: func(n int) (Election, bool) { return Election{N: n, Order: Descending(n)}, n >= 2 },
		},
		{
			Case: "any start, in any order", Convention: ringDetector,
			Kinds: []Kind{{"election", "W"}, {"elected", "N"}}, Sent: "W+N", Delivered: "W+N", Decided: "(N+d)T", Turnaround: "(2N+d−1)T",
			Growth: "N²", Source: derived,
			Holds: nobody,
			Typical: func(n int) (Election, bool) {
				return Election{N: n, Initiators: everySecond(n), Order: Descending(n)}, n >= 2
			},
		},
	}
}

// ringElectionsOnly is what the paper counts: until the token of the highest is back.
func ringElectionsOnly() []Row {
	var rows []Row
	for _, r := range ringAllStart()[:3] {
		r.Convention, r.Kinds, r.Source = ringElections, r.Kinds[:1], chang
		r.Sent, r.Delivered = r.Kinds[0].Sent, r.Kinds[0].Sent
		rows = append(rows, r)
	}
	return rows
}

// ringCrashed is the leader and those next below it crashed, in the order of ranks: they
// stand in a row. Only the highest that lives sends to one of them. Each costs it a
// token, unless it is the leader whose crash made it start; with each that it skips it
// starts a new run, and the tokens of the older ones end with it.
func ringCrashed() []Row {
	crashed := func(e Election) bool { return e.Crashed >= 1 && e.Live() >= 2 && e.ascending() }
	return []Row{
		{
			Case: "the leader crashed, the one before it starts", Convention: ringDetector,
			Kinds: []Kind{{"election", "N−1"}, {"elected", "N−1"}},
			Sent:  "2(N−1)", Delivered: "2(N−1)", Decided: "(N−1)T", Turnaround: "(2N−3)T",
			Growth: "N", Source: derived + ": 2N of notes, N being those that live",
			Holds:   func(e Election) bool { return crashed(e) && e.Crashed == 1 && e.one() && e.highestStarts() },
			Typical: func(n int) (Election, bool) { return Election{N: n, Crashed: 1, Initiators: []int{n - 1}}, n >= 3 },
		},
		{
			Case: "the leader crashed, the one before it starts, in any order", Convention: ringDetector,
			// It closes the ring before it sends: what is left is a ring of m where one starts.
			Kinds: []Kind{{"election", "m+d"}, {"elected", "m"}}, Sent: "2m+d", Delivered: "2m+d", Decided: "(m+d)T", Turnaround: "(2m+d−1)T",
			Growth: "N", Source: derived,
			Holds: func(e Election) bool { return e.Crashed == 1 && e.Live() >= 2 && e.one() && e.Starts(e.Before(e.N)) },
			Typical: func(n int) (Election, bool) {
				return Election{N: n, Crashed: 1, Initiators: []int{1}, Order: Descending(n)}, n >= 3
			},
		},
		{
			Case: "f crashed, any start, in the order of their ranks", Convention: ringDetector,
			Kinds: []Kind{{"election", "m + (m−i) + l"}, {"elected", "m"}},
			Sent:  "2m + (m−i) + l", Delivered: "2m + (m−i)", Decided: "(m+d)T", Turnaround: "(2m+d−1)T",
			Growth: "N", Source: derived,
			Holds: crashed,
			Typical: func(n int) (Election, bool) {
				return Election{N: n, Crashed: n / 2, Initiators: []int{1}}, n >= 4
			},
		},
	}
}

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

// everySecond is the ranks 1, 3, …
func everySecond(n int) []int {
	var ranks []int
	for rank := 1; rank <= n; rank += 2 {
		ranks = append(ranks, rank)
	}
	return ranks
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
