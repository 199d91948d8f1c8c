package theory

// The sources of the rows about bully.
const (
	coulouris = "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, 5th ed., 15.3"
	notes     = "Z. Ying: Distributed System (10), lecture notes, 2024"
	readme    = "gsharma/leader-election, readme"
	derived   = "derived here"
)

// textbookBully is Garcia-Molina 1982, as it is taught today.
//
// What all of its counts are made of: who takes part asks everybody above, N−j messages
// at rank j; everybody who lives and is asked answers; and the winner tells m−1. Who is
// asked takes part, so everybody from i to m does: k processes. They ask
//
//	(N−i) + (N−i−1) + … + (N−m)  =  k(k−1)/2 + k·f
//
// and of these messages k·f go to the crashed. The others are answered: k(k−1)/2.
func textbookBully() []Row {
	lowest := func(n int) (Election, bool) { return Election{N: n, Crashed: 1, Initiators: []int{1}}, n >= 3 }
	lowestStarts := func(e Election) bool { return oneCrashed(e) && e.Lowest() == 1 && !e.highestStarts() }

	worst := []Kind{{"election", "N(N−1)/2"}, {"answer", "(N−1)(N−2)/2"}, {"coordinator", "N−2"}}
	return []Row{
		{
			Case: "one crashed, the lowest starts", Convention: bullyTextbook,
			// N(N−1)/2 + (N−1)(N−2)/2 = (N−1)², and N−1 of them went to the crashed one. T until
			// the highest that lives is asked, RTT until it has no answer, T to tell.
			Kinds: worst, Sent: "N²−N−1", Delivered: "N²−2N", Decided: "T+RTT", Turnaround: "2T+RTT",
			Growth: "N²", Source: notes + " (the time); " + derived,
			Holds: lowestStarts, Typical: lowest,
		},
		{
			Case: "one crashed, everybody starts", Convention: bullyTextbook,
			Kinds: worst, Sent: "N²−N−1", Delivered: "N²−2N", Decided: "RTT", Turnaround: "T+RTT",
			Growth: "N²", Source: derived, Holds: allStart, Typical: allOfThem,
		},
		{
			Case: "one crashed, the highest that lives starts", Convention: bullyTextbook,
			Kinds: []Kind{{"election", "1"}, {"coordinator", "N−2"}}, Sent: "N−1", Delivered: "N−2", Decided: "RTT", Turnaround: "T+RTT",
			Growth: "N", Source: derived + ": it must ask who has crashed, and wait",
			Holds: func(e Election) bool { return oneCrashed(e) && e.one() && e.highestStarts() }, Typical: nextStarts,
		},
		{
			Case: "one crashed, one starts, whoever", Convention: bullyTextbook, Mean: OverInitiators,
			// Of k that take part, k² + N−2 are sent: see bullySeveralCrashed. The mean of k²
			// for k = 1 … N−1 is N(2N−1)/6, that of k(k+1)/2 is N(N+1)/6, and that of k(k−1)/2 is
			// N(N−2)/6. The mean of k is N/2: one message of each goes to the crashed one. One in
			// N−1 is the highest, who starts T earlier than if it has to be asked.
			Kinds: []Kind{{"election", "N(N+1)/6"}, {"answer", "N(N−2)/6"}, {"coordinator", "N−2"}},
			Sent:  "N(2N−1)/6 + N−2", Delivered: "N(2N−1)/6 + N/2 − 2", Decided: "T+RTT − T/(N−1)", Turnaround: "2T+RTT − T/(N−1)",
			Growth: "N²", Source: derived,
			Holds: func(e Election) bool { return oneCrashed(e) && e.one() }, Typical: lowest,
		},
		{
			Case: "one crashed, the lowest starts", Convention: bullyToAll,
			Kinds: []Kind{worst[0], worst[1], {"coordinator", "N−1"}},
			Sent:  "N²−N", Delivered: "N²−2N", Decided: "T+RTT", Turnaround: "2T+RTT",
			Growth: "N²", Source: readme + ": \"a Victory message to all other processes\"; " + derived,
			Holds: lowestStarts, Typical: lowest,
		},
		{
			Case: "one crashed, the lowest starts", Convention: bullyElections,
			Kinds: worst[:1], Sent: "N(N−1)/2", Delivered: "(N−1)(N−2)/2", Decided: "T+RTT", Turnaround: "2T+RTT",
			Growth: "N²", Source: coulouris + ": \"N−1 processes altogether begin elections\"",
			Holds: lowestStarts, Typical: lowest,
		},
		{
			Case: "f crashed, any start", Convention: bullyTextbook,
			Kinds: []Kind{{"election", "k(k−1)/2 + kf"}, {"answer", "k(k−1)/2"}, {"coordinator", "m−1"}},
			Sent:  "k² + k(f−1) + m−1", Delivered: "k² − k + m−1", Decided: "RTT + uT", Turnaround: "T+RTT + uT",
			Growth: "N²", Source: derived, Holds: someCrashed, Typical: halfOfThem,
		},
		{
			Case: "nobody crashed, the highest starts", Convention: bullyTextbook,
			Kinds: []Kind{{"coordinator", "N−1"}}, Sent: "N−1", Delivered: "N−1", Decided: "0", Turnaround: "T",
			Growth: "N", Source: notes, Holds: leaderAlone,
			Typical: func(n int) (Election, bool) { return Election{N: n, Initiators: []int{n}}, n >= 2 },
		},
		{
			Case: "nobody crashed, one starts that is not the highest", Convention: bullyTextbook,
			// The k−1 below the highest ask it, who starts, and those who are asked, T later. It
			// answers each, and tells all each time that it leads.
			Kinds: []Kind{{"election", "k(k−1)/2"}, {"answer", "k(k−1)/2"}, {"coordinator", "(k−1)(N−1)"}},
			Sent:  "(k−1)(k+N−1)", Delivered: "(k−1)(k+N−1)", Decided: "2T", Turnaround: "3T",
			Growth: "N²", Source: derived,
			Holds:   func(e Election) bool { return nobody(e) && e.one() && e.elections() >= 3 },
			Typical: func(n int) (Election, bool) { return Election{N: n, Initiators: []int{1}}, n >= 3 },
		},
		{
			Case: "nobody crashed, the next to the highest starts", Convention: bullyTextbook,
			Kinds: []Kind{{"election", "1"}, {"answer", "1"}, {"coordinator", "N−1"}},
			Sent:  "N+1", Delivered: "N+1", Decided: "T", Turnaround: "2T",
			Growth: "N", Source: derived,
			Holds:   func(e Election) bool { return nobody(e) && e.one() && e.elections() == 2 },
			Typical: func(n int) (Election, bool) { return Election{N: n, Initiators: []int{n - 1}}, n >= 2 },
		},
		{
			Case: "nobody crashed, everybody starts", Convention: bullyTextbook,
			// The highest tells all at once, and again whenever one of the N−1 others asks it.
			Kinds: []Kind{{"election", "N(N−1)/2"}, {"answer", "N(N−1)/2"}, {"coordinator", "N(N−1)"}},
			Sent:  "2N(N−1)", Delivered: "2N(N−1)", Decided: "T", Turnaround: "2T",
			Growth: "N²", Source: derived,
			Holds:   func(e Election) bool { return nobody(e) && e.everybodyStarts() },
			Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
		},
	}
}

// bully is the same for use: a detector says who has crashed, and a leader tells the asker alone.
func bully() []Row {
	return []Row{
		{
			Case: "one crashed, the highest that lives starts, or more with it", Convention: bullyDetector,
			Kinds: []Kind{{"coordinator", "N−2"}}, Sent: "N−2", Delivered: "N−2", Decided: "0", Turnaround: "T",
			Growth: "N", Source: coulouris + "; " + notes,
			Holds: func(e Election) bool { return oneCrashed(e) && e.highestStarts() }, Typical: nextStarts,
		},
		{
			Case: "one crashed, everybody starts", Convention: bullyNoHeadStart,
			// The highest that lives leads at once. It gets the Elections of the N−2 others
			// when it leads already, and answers them with a Coordinator each.
			Kinds: []Kind{{"election", "(N−1)(N−2)/2"}, {"answer", "(N−2)(N−3)/2"}, {"coordinator", "2(N−2)"}},
			Sent:  "N²−2N", Delivered: "N²−2N", Decided: "0", Turnaround: "T",
			Growth: "N²", Source: derived + ": why there is a head start", Holds: allStart, Typical: allOfThem,
		},
		{
			Case: "f crashed, the highest that lives starts, or more with it", Convention: bullyDetector,
			Kinds: []Kind{{"coordinator", "m−1"}}, Sent: "m−1", Delivered: "m−1", Decided: "0", Turnaround: "T",
			Growth: "N", Source: derived,
			Holds: func(e Election) bool { return someCrashed(e) && e.highestStarts() },
			Typical: func(n int) (Election, bool) {
				return Election{N: n, Crashed: n / 2, Initiators: []int{n - n/2}}, n >= 4
			},
		},
		{
			Case: "f crashed, any start but the highest that lives", Convention: bullyDetector,
			// Those who start give a head start, of half an RTT, to who does not know yet. Then
			// they ask those above who live; who is asked by them asks all above, for it hears
			// of the crash only then. The highest answers the first who asks, leads at once,
			// and tells the other k−2 that ask.
			Kinds: []Kind{{"election", "k(k−1)/2 + fa"}, {"answer", "(k−1)(k−2)/2 + 1"}, {"coordinator", "m−1 + k−2"}},
			Sent:  "k² − k + m−1 + fa", Delivered: "k² − k + m−1", Decided: "T+RTT/2", Turnaround: "2T+RTT/2",
			Growth: "N²", Source: derived,
			Holds: func(e Election) bool { return someCrashed(e) && !e.highestStarts() }, Typical: halfOfThem,
		},
		{
			Case: "nobody crashed, the highest starts", Convention: bullyDetector,
			Kinds: []Kind{{"coordinator", "N−1"}}, Sent: "N−1", Delivered: "N−1", Decided: "0", Turnaround: "T",
			Growth: "N", Source: notes, Holds: leaderAlone,
			Typical: func(n int) (Election, bool) { return Election{N: n, Initiators: []int{n}}, n >= 2 },
		},
		{
			Case: "nobody crashed, one starts that is not the highest", Convention: bullyDetector,
			// The k−1 below the highest take part. The leader answers each of them, tells it what
			// it knows, and stays.
			Kinds: []Kind{{"election", "k(k−1)/2"}, {"answer", "k(k−1)/2"}, {"coordinator", "k−1"}},
			Sent:  "k²−1", Delivered: "k²−1", Decided: "0", Turnaround: "0",
			Growth: "N²", Source: derived,
			Holds:   func(e Election) bool { return nobody(e) && e.one() && !e.highestStarts() },
			Typical: func(n int) (Election, bool) { return Election{N: n, Initiators: []int{1}}, n >= 2 },
		},
		{
			Case: "nobody crashed, everybody starts", Convention: bullyDetector,
			// The leader leads anew at once, and answers each of the N−1 that ask it with
			// a Coordinator. The others answer each other.
			Kinds: []Kind{{"election", "N(N−1)/2"}, {"answer", "(N−1)(N−2)/2"}, {"coordinator", "2(N−1)"}},
			Sent:  "N²−1", Delivered: "N²−1", Decided: "0", Turnaround: "T",
			Growth: "N²", Source: derived,
			Holds:   func(e Election) bool { return nobody(e) && e.everybodyStarts() },
			Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
		},
	}
}

// The elections that rows about bully are about.
func oneCrashed(e Election) bool  { return e.Crashed == 1 && e.N >= 3 }
func someCrashed(e Election) bool { return e.Crashed >= 1 && e.Live() >= 2 }
func nobody(e Election) bool      { return e.Crashed == 0 && e.N >= 2 }
func allStart(e Election) bool    { return oneCrashed(e) && e.everybodyStarts() }
func leaderAlone(e Election) bool { return nobody(e) && e.one() && e.highestStarts() }

// And what is typical of them.
func nextStarts(n int) (Election, bool) {
	return Election{N: n, Crashed: 1, Initiators: []int{n - 1}}, n >= 3
}
func allOfThem(n int) (Election, bool) { return Election{N: n, Crashed: 1}, n >= 3 }
func halfOfThem(n int) (Election, bool) {
	return Election{N: n, Crashed: n / 2, Initiators: []int{1}}, n >= 4
}

// unless is one, unless that is so.
func unless(so bool) float64 {
	if so {
		return 0
	}
	return 1
}
