package theory

import "math/rand/v2"

// Case is a kind of election that is measured against the theory, for any N.
type Case struct {
	Algorithm string
	// Name is "best", "worst", "all-start" or "random" (a random one starts), of the cases that
	// books have; or "leader-crash": what follows a crash by default, where whoever watches the
	// leader starts at once.
	Name       string
	Convention string // one of those of the rows
	Mean       Mean   // of what the theory says
	Most       int    // the largest N that is counted in seconds
	Untold     bool   // the theory says nothing of it: it is counted alone

	elections func(n int) []Election
}

// Cases returns all of them.
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
		{textbookBully, "random", "textbook", Single, 1024, false, whoever(1)},

		{ring, "best", "detector", Single, 16384, false, one(0, highest)},
		{ring, "worst", "detector", Single, 16384, false, one(0, lowest)},
		{ring, "all-start", "detector", OverOrders, 16384, false, one(0)},
		{ring, "all-start-worst", "detector", Single, 1024, false, func(n int) []Election { return []Election{{N: n, Order: Descending(n)}} }},
		{ring, "random", "detector", Single, 16384, false, whoever(0)},
		{ring, "leader-crash", "detector", Single, 16384, false, one(1, next)}, // nobody else watches it
		{textbookRing, "worst", "textbook", Single, 16384, false, one(0, lowest)},

		{vote, "best", "detector", Single, 1024, false, one(0)},
		{vote, "worst", "window", Single, 1024, false, one(0, lowest)},
		{vote, "all-start", "window", Single, 1024, false, one(0)},
		{vote, "random", "detector", Single, 1024, false, whoever(0)},
		{vote, "leader-crash", "detector", Single, 1024, false, one(1)},
		{textbookVote, "all-start", "textbook", Single, 1024, false, one(1)},
	}
}

// Untold returns the cases of an algorithm of which the theory says nothing: the leader has
// crashed, and all start that live; or a random one starts.
func Untold(algorithm string) []Case {
	return []Case{
		{algorithm, "leader-crash", "detector", Single, 1024, true, one(1)},
		{algorithm, "random", "detector", Single, 1024, true, whoever(0)},
	}
}

// one is an election in which f have crashed, and those start; nobody named, all.
func one(f int, starts ...func(n int) int) func(n int) []Election {
	return func(n int) []Election {
		e := Election{N: n, Crashed: f}
		for _, s := range starts {
			e.Initiators = append(e.Initiators, s(n))
		}
		return []Election{e}
	}
}

// whoever is one for each that lives and may start alone.
func whoever(f int) func(n int) []Election {
	return func(n int) (all []Election) {
		for i := range n - f {
			all = append(all, Election{N: n, Crashed: f, Initiators: []int{1 + i}})
		}
		return all
	}
}

// Drawn says that elections differ by their seed.
func (c Case) Drawn() bool { return c.Mean == OverOrders || len(c.elections(4)) > 1 }

// Draw is one of the elections of n.
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

// Expected is the mean over the elections of n of one of the numbers of a row, and whether the
// theory says it.
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

// Row is what the theory says of an election of n, and whether it says it.
func (c Case) Row(n int) (Row, bool) {
	if c.elections == nil || n < 2 {
		return Row{}, false
	}
	return For(c.Algorithm, c.Convention, c.Mean, c.elections(n)[0])
}

// CaseOf finds one by the names of its algorithm and of itself.
func CaseOf(algorithm, name string) (Case, bool) {
	for _, c := range Cases() {
		if c.Algorithm == algorithm && c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}
