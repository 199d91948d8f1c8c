package theory

import "slices"

const gmt = "A Leader Election Algorithm, 12 January and 2 February 2000"

// vote is ELECT/VOTE by majority.
//
// What all of its counts are made of: whoever starts, and whoever hears of it, tells all
// others its claim, those that have crashed too: m(N−1). All vote for the same server,
// the old leader or, when it has crashed, the highest that lives; it need not send a vote
// to itself: m−1. The winner tells all others: N−1.
func vote() []Row {
	return slices.Concat(voteAllStart(), []Row{voteAny(voteWindow, "V"), voteAny(voteDetector, "v")})
}

// quorate reports whether those that live are a majority. If not nobody is elected.
func quorate(e Election) bool { return e.N >= 2 && e.Live() >= quorum(e) }

func quorum(e Election) int { return e.N/2 + 1 }

// voteAllStart is nobody crashed and everybody starting at once: N(N−1) + 2(N−1) = N²+N−2.
func voteAllStart() []Row {
	row := Row{
		Case: "all start", Convention: voteWindow,
		Kinds: []Kind{{"elect", "N(N−1)"}, {"vote", "N−1"}, {"lead", "N−1"}}, Sent: "N²+N−2", Delivered: "N²+N−2",
		// T for the last vote that is needed, once the window has ended.
		Decided: "RTT+T", Turnaround: "RTT+2T",
		Growth: "N²", Source: gmt + "; " + derived,
		Holds:   func(e Election) bool { return quorate(e) && e.Crashed == 0 && e.everybodyStarts() },
		Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
	}
	early := row
	early.Convention, early.Decided, early.Turnaround, early.Source = voteDetector, "2T", "3T", derived
	return []Row{row, early}
}

// voteAny is the same for any f that leaves a majority, and any that start.
func voteAny(c Convention, decided Formula) Row {
	return Row{
		Case: "f crashed, any start", Convention: c,
		Kinds: []Kind{{"elect", "m(N−1)"}, {"vote", "m−1"}, {"lead", "N−1"}},
		Sent:  "(m+1)(N−1) + m−1", Delivered: "(m+2)(m−1)", Decided: decided, Turnaround: decided + "+T",
		Growth: "N²", Source: derived,
		Holds: quorate,
		Typical: func(n int) (Election, bool) {
			return Election{N: n, Crashed: min(1, (n-1)/2), Initiators: []int{1}}, n >= 2
		},
	}
}

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

// textbookVote is the source to the letter. A leader that lives is voted for, and says nothing
// to that: "rcv VOTE" is among the actions of a FOLLOWER only.
func textbookVote() []Row {
	replaced := voteAny(voteTextbook, "V")
	replaced.Holds = func(e Election) bool { return quorate(e) && e.Crashed >= 1 }
	replaced.Typical = func(n int) (Election, bool) { return Election{N: n, Crashed: 1}, n >= 3 }
	replaced.Source = gmt + "; " + derived
	// What the source has in mind: "every server broadcasts". Each of those that live gets all of
	// it that is not its own; as messages on the medium there are as many as were sent.
	broadcast := replaced
	broadcast.Convention, broadcast.Growth = voteBroadcast, "N"
	broadcast.Kinds, broadcast.Sent, broadcast.Delivered = []Kind{{"elect", "m"}, {"vote", "m"}, {"lead", "1"}}, "2m+1", "2m+1"
	broadcast.Source = gmt + ": \"each server sends a max of two messages (ELECT + VOTE) per RTT interval\""
	return []Row{replaced, broadcast, {
		Case: "nobody crashed, any start", Convention: voteTextbook,
		Kinds: []Kind{{"elect", "N(N−1)"}, {"vote", "N−1"}}, Sent: "N²−1", Delivered: "N²−1", Decided: "0", Turnaround: "0",
		Growth: "N²", Source: derived,
		Holds:   func(e Election) bool { return quorate(e) && e.Crashed == 0 },
		Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
	}}
}
