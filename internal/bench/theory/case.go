package theory

import "math/rand/v2"

// Case is a kind of election that is compared with the theory, for any N.
type Case struct {
	Algorithm string
	// Name is "best", "worst", "all-start" or "random" (a random process starts) for the cases of
	// the books. It is "leader-crash" for the default after a crash: every process that monitors the
	// leader starts at once.
	Name          string
	Convention    string // convention of the rows
	Mean          Mean   // elections over which the theory gives a mean
	Most          int    // largest N that is counted within seconds
	WithoutTheory bool   // the theory has no row; the case is counted without a comparison

	elections func(n int) []Election
}

// Cases returns all cases that have a row in the theory.
func Cases() []Case {
	const bully, ring, vote = "bully", "ring", "vote"
	const textbookBully, textbookRing, textbookVote = "textbook-bully", "textbook-ring", "textbook-vote"
	lowest := func(int) int { return 1 }
	next := func(n int) int { return n - 1 }
	highest := func(n int) int { return n }
	return []Case{
		{bully, "best", "detector", Single, 1024, false, one(1, next)},
		{bully, "leader-crash", "detector", Single, 1024, false, one(1)},
		{textbookBully, "worst", "textbook", Single, 1024, false, one(1, lowest)},
		{textbookBully, "all-start", "textbook", Single, 1024, false, one(1)},
		{textbookBully, "random", "textbook", Single, 1024, false, eachAlone(1)},

		{ring, "best", "detector", Single, 16384, false, one(0, highest)},
		{ring, "worst", "detector", Single, 16384, false, one(0, lowest)},
		{ring, "all-start", "detector", OverOrders, 16384, false, one(0)},
		{ring, "all-start-worst", "detector", Single, 1024, false, func(n int) []Election { return []Election{{N: n, Order: Descending(n)}} }},
		{ring, "random", "detector", Single, 16384, false, eachAlone(0)},
		{ring, "leader-crash", "detector", Single, 16384, false, one(1, next)}, // no other process monitors the leader
		{textbookRing, "worst", "textbook", Single, 16384, false, one(0, lowest)},

		{vote, "best", "detector", Single, 1024, false, one(0)},
		{vote, "worst", "window", Single, 1024, false, one(0, lowest)},
		{vote, "all-start", "window", Single, 1024, false, one(0)},
		{vote, "random", "detector", Single, 1024, false, eachAlone(0)},
		{vote, "leader-crash", "detector", Single, 1024, false, one(1)},
		{textbookVote, "all-start", "textbook", Single, 1024, false, one(1)},
	}
}

// CasesWithoutTheory returns the cases of an algorithm that has no rows in the theory: the leader
// has crashed and all live processes start, or a random process starts.
func CasesWithoutTheory(algorithm string) []Case {
	return []Case{
		{algorithm, "leader-crash", "detector", Single, 1024, true, one(1)},
		{algorithm, "random", "detector", Single, 1024, true, eachAlone(0)},
	}
}

// one returns an election in which f have crashed and the given processes start; all if none is given.
func one(f int, starts ...func(n int) int) func(n int) []Election {
	return func(n int) []Election {
		e := Election{N: n, Crashed: f}
		for _, s := range starts {
			e.Initiators = append(e.Initiators, s(n))
		}
		return []Election{e}
	}
}

// eachAlone returns one election for each live process, which starts alone.
func eachAlone(f int) func(n int) []Election {
	return func(n int) (all []Election) {
		for i := range n - f {
			all = append(all, Election{N: n, Crashed: f, Initiators: []int{1 + i}})
		}
		return all
	}
}

// Drawn reports whether the elections of c differ by their seed.
func (c Case) Drawn() bool { return c.Mean == OverOrders || len(c.elections(4)) > 1 }

// Draw returns a random election of n processes.
func (c Case) Draw(n int, random *rand.Rand) Election {
	all := c.elections(n)
	e := all[0]
	switch {
	case c.Mean == OverOrders:
		e.Order = random.Perm(n)
		for at := range e.Order {
			e.Order[at]++
		}
	case len(all) > 1:
		e = all[random.IntN(len(all))]
	}
	return e
}

// Expected returns the mean of a number of the rows over the elections of n processes. It reports
// whether the theory has a row for each of them.
func (c Case) Expected(n int, number func(Row) Formula) (mean float64, known bool) {
	if c.elections == nil || n < 2 {
		return 0, false
	}
	var sum float64
	all := c.elections(n)
	for _, e := range all {
		row, known := For(c.Algorithm, c.Convention, c.Mean, e)
		if !known {
			return 0, false
		}
		sum += number(row).At(e)
	}
	return sum / float64(len(all)), true
}

// Row returns the row of the theory for an election of n processes, and whether there is one.
func (c Case) Row(n int) (Row, bool) {
	if c.elections == nil || n < 2 {
		return Row{}, false
	}
	return For(c.Algorithm, c.Convention, c.Mean, c.elections(n)[0])
}

// CaseOf finds a case by the name of its algorithm and its own name.
func CaseOf(algorithm, name string) (Case, bool) {
	for _, c := range Cases() {
		if c.Algorithm == algorithm && c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}
