package theory

// Typical returns an election of n processes for which the row holds; false if there is none.
func (r Row) Typical(n int) (Election, bool) {
	e := electionOf(r.typical, n)
	return e, met(r.typical[:1], e) && r.Holds(e)
}

// electionOf returns the election of n processes that the conditions describe.
func electionOf(conditions []condition, n int) Election {
	e := Election{N: n}
	for _, c := range conditions {
		switch c.left {
		case "f":
			e.Crashed = int(c.right.At(e))
		case "i":
			e.Initiators = []int{int(c.right.At(e))}
		case "e":
			e.Initiators = everySecond(n)
		case "D":
			e.Order = Descending(n)
		}
	}
	return e
}

// everySecond returns the ranks 1, 3, …
func everySecond(n int) []int {
	var ranks []int
	for rank := 1; rank <= n; rank += 2 {
		ranks = append(ranks, rank)
	}
	return ranks
}
