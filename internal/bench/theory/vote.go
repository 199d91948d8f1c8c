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
	return slices.Concat(voteAllStart(), voteAnyStart(), votePublishedRows(), voteOnABroadcastMedium())
}

// quorate reports whether those that live are a majority. If not nobody is elected.
func quorate(e Election) bool { return e.N >= 2 && e.Live() >= quorum(e) }

func quorum(e Election) int { return e.N/2 + 1 }

func fullKinds() []Kind {
	return []Kind{
		{"elect", count("N(N−1)", func(e Election) int { return e.N * (e.N - 1) })},
		{"vote", count("N−1", func(e Election) int { return e.N - 1 })},
		{"lead", count("N−1", func(e Election) int { return e.N - 1 })},
	}
}

// N(N−1) + 2(N−1) = N²+N−2.
var fullSent = count("N²+N−2", func(e Election) int { return e.N*e.N + e.N - 2 })

// voteAllStart is nobody crashed and everybody starting at once.
func voteAllStart() []Row {
	all := func(e Election) bool { return quorate(e) && e.Crashed == 0 && e.everybodyStarts() }
	typical := func(n int) (Election, bool) { return Election{N: n}, n >= 2 }
	return []Row{
		{
			Algorithm: "vote", Case: "all start", Convention: voteTextbook,
			Kinds: fullKinds(), Sent: fullSent, Delivered: fullSent,
			// T for the last vote that is needed, once the window has ended.
			Decided:    formula("RTT+T (3T)", func(e Election) float64 { return e.Wait() + 1 }),
			Turnaround: formula("RTT+2T (4T)", func(e Election) float64 { return e.Wait() + 2 }),
			Growth:     "N²", Source: gmt + "; " + derived,
			Holds: all, Typical: typical,
		},
		{
			Algorithm: "vote", Case: "all start", Convention: voteDetector,
			Kinds: fullKinds(), Sent: fullSent, Delivered: fullSent,
			Decided: constant("2T", 2), Turnaround: constant("3T", 3),
			Growth: "N²", Source: derived,
			Holds: all, Typical: typical,
		},
	}
}

// voteAnyStart is the same for any f that leaves a majority, and any that start.
func voteAnyStart() []Row {
	return []Row{voteAny(voteTextbook), voteAny(voteDetector)}
}

func voteAny(c Convention) Row {
	decided := "the time of the (⌊N/2⌋+1)-th vote; at most RTT+2T"
	if !c.Textbook {
		decided = "the time of the (⌊N/2⌋+1)-th vote; at most 3T"
	}
	at := func(e Election) float64 { return decidedAt(e, c) }
	return Row{
		Algorithm: "vote", Case: "f crashed, any start", Convention: c,
		Kinds: []Kind{
			{"elect", count("m(N−1)", func(e Election) int { return e.Live() * (e.N - 1) })},
			{"vote", count("m−1", func(e Election) int { return e.Live() - 1 })},
			{"lead", count("N−1", func(e Election) int { return e.N - 1 })},
		},
		Sent:       count("(m+1)(N−1) + m−1", func(e Election) int { return (e.Live()+1)*(e.N-1) + e.Live() - 1 }),
		Delivered:  count("(m+2)(m−1)", func(e Election) int { return (e.Live() + 2) * (e.Live() - 1) }),
		Decided:    formula(decided, at),
		Turnaround: formula("T after that", func(e Election) float64 { return at(e) + 1 }),
		Growth:     "N²", Source: derived,
		Holds: quorate,
		Typical: func(n int) (Election, bool) {
			return Election{N: n, Crashed: min(1, (n-1)/2), Initiators: []int{1}}, n >= 2
		},
	}
}

// decidedAt is when the winner has a majority. Who starts claims at 0, the others claim
// when they hear of it, at T. All vote for the highest that lives; its own vote is there
// at once, the others after T.
func decidedAt(e Election, c Convention) float64 {
	claims := func(rank int) float64 { return unless(e.Starts(rank)) }
	votes := func(rank int) float64 {
		if c.Textbook {
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

// votePublishedRows is the source to the letter. A leader that lives is voted for, and
// says nothing to that: "rcv VOTE" is among the actions of a FOLLOWER only.
func votePublishedRows() []Row {
	replaced := voteAny(votePublished)
	replaced.Holds = func(e Election) bool { return quorate(e) && e.Crashed >= 1 }
	replaced.Typical = func(n int) (Election, bool) { return Election{N: n, Crashed: 1}, n >= 3 }
	full := fullKinds()
	return []Row{replaced, {
		Algorithm: "vote", Case: "nobody crashed, any start", Convention: votePublished,
		Kinds:     full[:2],
		Sent:      count("N²−1", func(e Election) int { return e.N*e.N - 1 }),
		Delivered: count("N²−1", func(e Election) int { return e.N*e.N - 1 }),
		Decided:   constant("0", 0), Turnaround: constant("0: the leader stays", 0),
		Growth: "N²", Source: derived,
		Holds:   func(e Election) bool { return quorate(e) && e.Crashed == 0 },
		Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
	}}
}

// voteOnABroadcastMedium is what the source has in mind: "every server broadcasts".
func voteOnABroadcastMedium() []Row {
	r := voteAllStart()[0]
	r.Convention = voteBroadcast
	r.Kinds = []Kind{
		{"elect", count("N", func(e Election) int { return e.N })},
		{"vote", count("N", func(e Election) int { return e.N })},
		{"lead", constant("1", 1)},
	}
	r.Sent = count("2N+1", func(e Election) int { return 2*e.N + 1 })
	// Each of those that live gets all of it that is not its own; as messages on the medium
	// there are as many as were sent.
	r.Delivered = r.Sent
	r.Growth = "N"
	r.Source = gmt + ": \"each server sends a max of two messages (ELECT + VOTE) per RTT interval\""
	return []Row{r}
}
