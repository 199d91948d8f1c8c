package theory

import "slices"

func quorum(e Election) int { return e.N/2 + 1 }

// decidedAt is when the winner has a majority. Who starts claims at 0, the others claim
// when they hear of it, at T. All vote for the highest that lives; its own vote is there
// at once, the others after T. A server votes at the end of its window, or as soon as all have
// claimed that live.
func decidedAt(e Election, window bool) float64 {
	claims := func(rank int) float64 { return unless(e.Starts(rank)) }
	votes := func(rank int) float64 {
		if window {
			return claims(rank) + e.Wait()
		}
		heard := 0.0 // the last claim
		for other := 1; other <= e.Live(); other++ {
			if other != rank {
				heard = max(heard, claims(other)+1)
			}
		}
		return heard
	}
	var there []float64
	for rank := 1; rank <= e.Live(); rank++ {
		there = append(there, votes(rank)+unless(rank == e.Live()))
	}
	slices.Sort(there)
	return there[quorum(e)-1]
}

// unless is one, unless that is so.
func unless(so bool) float64 {
	if so {
		return 0
	}
	return 1
}
