package theory

import "slices"

func quorum(e Election) int { return e.N/2 + 1 }

// decidedAt returns the time at which the winner has a majority. Initiators claim at 0; the others
// claim when they receive a claim, at T. All vote for the highest live server. Its own vote arrives
// at once, the other votes after T. A server votes at the end of its window, or as soon as all live
// servers have claimed.
func decidedAt(e Election, window bool) float64 {
	claims := func(rank int) float64 { return unless(e.Starts(rank)) }
	votes := func(rank int) float64 {
		if window {
			return claims(rank) + e.Wait()
		}
		heard := 0.0 // time of the last claim
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

// unless returns 0 if the condition holds, and 1 otherwise.
func unless(condition bool) float64 {
	if condition {
		return 0
	}
	return 1
}
