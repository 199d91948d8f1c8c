package theory

// The sources of the rows about bully.
const (
	coulouris = "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, 5th ed., 15.3"
	notes     = "Z. Ying: Distributed System (10), lecture notes, 2024"
	readme    = "gsharma/leader-election, readme"
	derived   = "derived here"
)

// bully is Garcia-Molina 1982, as it is taught today.
//
// What all of its counts are made of: who takes part asks everybody above, N−j messages
// at rank j; everybody who lives and is asked answers; and the winner tells m−1. Who is
// asked takes part, so everybody from i to m does: k processes. They ask
//
//	(N−i) + (N−i−1) + … + (N−m)  =  k(k−1)/2 + k·f
//
// and of these messages k·f go to the crashed. The others are answered: k(k−1)/2.
func bully() []Row {
	return append(append(bullyOneCrashed(), bullySeveralCrashed()...), bullyNobodyCrashed()...)
}

// bullyOneCrashed is the cases that are found in books: the leader has crashed.
func bullyOneCrashed() []Row {
	oneCrashed := func(e Election) bool { return e.Crashed == 1 && e.N >= 3 }
	lowest := func(n int) (Election, bool) { return Election{N: n, Crashed: 1, Initiators: []int{1}}, n >= 3 }
	highest := func(n int) (Election, bool) {
		return Election{N: n, Crashed: 1, Initiators: []int{n - 1}}, n >= 3
	}
	everybody := func(n int) (Election, bool) { return Election{N: n, Crashed: 1}, n >= 3 }
	lowestStarts := func(e Election) bool { return oneCrashed(e) && e.Lowest() == 1 && !e.highestStarts() }
	onlyHighest := func(e Election) bool { return oneCrashed(e) && e.one() && e.highestStarts() }

	coordinator := func(e Election) int { return e.N - 2 }
	worst := []Kind{
		{"election", count("N(N−1)/2", func(e Election) int { return pairs(e.N) })},
		{"answer", count("(N−1)(N−2)/2", func(e Election) int { return pairs(e.N - 1) })},
		{"coordinator", count("N−2", coordinator)},
	}
	// N(N−1)/2 + (N−1)(N−2)/2 = (N−1)², and (N−1)² + N−2 = N²−N−1.
	worstSent := count("N²−N−1", func(e Election) int { return e.N*e.N - e.N - 1 })
	// N−1 of them went to the crashed one.
	worstDelivered := count("N²−2N", func(e Election) int { return e.N*e.N - 2*e.N })

	return []Row{
		{
			Algorithm: "bully", Case: "one crashed, the highest that lives starts, or more with it", Convention: bullyDetector,
			Kinds: []Kind{{"coordinator", count("N−2", coordinator)}},
			Sent:  count("N−2", coordinator), Delivered: count("N−2", coordinator),
			Decided: constant("0", 0), Turnaround: constant("T", 1),
			Growth: "N", Source: coulouris + "; " + notes,
			Holds: func(e Election) bool { return oneCrashed(e) && e.highestStarts() }, Typical: highest,
		},
		{
			Algorithm: "bully", Case: "one crashed, the lowest starts", Convention: bullyTextbook,
			Kinds: worst, Sent: worstSent, Delivered: worstDelivered,
			// T until the highest that lives is asked, RTT until it has no answer, T to tell.
			Decided:    formula("T+RTT", func(e Election) float64 { return 1 + e.Wait() }),
			Turnaround: formula("2T+RTT (4T)", func(e Election) float64 { return 2 + e.Wait() }),
			Growth:     "N²", Source: notes + " (the time); " + derived,
			Holds: lowestStarts, Typical: lowest,
		},
		{
			Algorithm: "bully", Case: "one crashed, everybody starts", Convention: bullyTextbook,
			Kinds: worst, Sent: worstSent, Delivered: worstDelivered,
			Decided:    formula("RTT", func(e Election) float64 { return e.Wait() }),
			Turnaround: formula("T+RTT (3T)", func(e Election) float64 { return 1 + e.Wait() }),
			Growth:     "N²", Source: derived,
			Holds: func(e Election) bool { return oneCrashed(e) && e.everybodyStarts() }, Typical: everybody,
		},
		{
			Algorithm: "bully", Case: "one crashed, the highest that lives starts", Convention: bullyTextbook,
			Kinds: []Kind{
				{"election", constant("1", 1)},
				{"coordinator", count("N−2", coordinator)},
			},
			Sent: count("N−1", func(e Election) int { return e.N - 1 }), Delivered: count("N−2", coordinator),
			Decided:    formula("RTT", func(e Election) float64 { return e.Wait() }),
			Turnaround: formula("T+RTT (3T)", func(e Election) float64 { return 1 + e.Wait() }),
			Growth:     "N", Source: derived + ": it must ask who has crashed, and wait",
			Holds: onlyHighest, Typical: highest,
		},
		{
			Algorithm: "bully", Case: "one crashed, one starts, whoever", Convention: bullyTextbook, Mean: OverInitiators,
			// Of k that take part, k² + N−2 are sent: see bullySeveralCrashed. The mean of k²
			// for k = 1 … N−1 is N(2N−1)/6.
			Kinds: []Kind{
				// Means of k(k+1)/2 and k(k−1)/2.
				{"election", formula("N(N+1)/6", func(e Election) float64 { return float64(e.N*(e.N+1)) / 6 })},
				{"answer", formula("N(N−2)/6", func(e Election) float64 { return float64(e.N*(e.N-2)) / 6 })},
				{"coordinator", count("N−2", coordinator)},
			},
			Sent: formula("N(2N−1)/6 + N−2", func(e Election) float64 { return float64(e.N*(2*e.N-1))/6 + float64(e.N-2) }),
			// The mean of k is N/2: one message of each goes to the crashed one.
			Delivered: formula("N(2N−1)/6 + N/2 − 2", func(e Election) float64 {
				return float64(e.N*(2*e.N-1))/6 + float64(e.N)/2 - 2
			}),
			// One in N−1 is the highest, who starts T earlier than if it has to be asked.
			Decided:    formula("T+RTT − T/(N−1)", func(e Election) float64 { return 1 + e.Wait() - 1/float64(e.N-1) }),
			Turnaround: formula("2T+RTT − T/(N−1)", func(e Election) float64 { return 2 + e.Wait() - 1/float64(e.N-1) }),
			Growth:     "N²", Source: derived,
			Holds: func(e Election) bool { return oneCrashed(e) && e.one() }, Typical: lowest,
		},
		{
			Algorithm: "bully", Case: "one crashed, everybody starts", Convention: bullyNoHeadStart,
			// The highest that lives leads at once. It gets the Elections of the N−2 others
			// when it leads already, and answers them with a Coordinator each.
			Kinds: []Kind{
				{"election", count("(N−1)(N−2)/2", func(e Election) int { return pairs(e.N - 1) })},
				{"answer", count("(N−2)(N−3)/2", func(e Election) int { return pairs(e.N - 2) })},
				{"coordinator", count("2(N−2)", func(e Election) int { return 2 * (e.N - 2) })},
			},
			Sent:      count("N²−2N", func(e Election) int { return e.N*e.N - 2*e.N }),
			Delivered: count("N²−2N", func(e Election) int { return e.N*e.N - 2*e.N }),
			Decided:   constant("0", 0), Turnaround: constant("T", 1),
			Growth: "N²", Source: derived + ": why there is a head start",
			Holds: func(e Election) bool { return oneCrashed(e) && e.everybodyStarts() }, Typical: everybody,
		},
		{
			Algorithm: "bully", Case: "one crashed, the lowest starts", Convention: bullyToAll,
			Kinds: []Kind{worst[0], worst[1], {"coordinator", count("N−1", func(e Election) int { return e.N - 1 })}},
			Sent:  count("N²−N", func(e Election) int { return e.N*e.N - e.N }), Delivered: worstDelivered,
			Decided:    formula("T+RTT", func(e Election) float64 { return 1 + e.Wait() }),
			Turnaround: formula("2T+RTT (4T)", func(e Election) float64 { return 2 + e.Wait() }),
			Growth:     "N²", Source: readme + ": \"a Victory message to all other processes\"; " + derived,
			Holds: lowestStarts, Typical: lowest,
		},
		{
			Algorithm: "bully", Case: "one crashed, the lowest starts", Convention: bullyElections,
			Kinds: worst[:1], Sent: worst[0].Sent,
			Delivered:  count("(N−1)(N−2)/2", func(e Election) int { return pairs(e.N - 1) }),
			Decided:    formula("T+RTT", func(e Election) float64 { return 1 + e.Wait() }),
			Turnaround: formula("2T+RTT (4T)", func(e Election) float64 { return 2 + e.Wait() }),
			Growth:     "N²", Source: coulouris + ": \"N−1 processes altogether begin elections\"",
			Holds: lowestStarts, Typical: lowest,
		},
	}
}

// bullySeveralCrashed is the same for any f and any set of those who start.
func bullySeveralCrashed() []Row {
	crashed := func(e Election) bool { return e.Crashed >= 1 && e.Live() >= 2 }
	halfOfThem := func(n int) (Election, bool) { return Election{N: n, Crashed: n / 2, Initiators: []int{1}}, n >= 4 }
	return []Row{
		{
			Algorithm: "bully", Case: "f crashed, any start", Convention: bullyTextbook,
			Kinds: []Kind{
				{"election", count("k(k−1)/2 + kf", func(e Election) int { return pairs(e.elections()) + e.elections()*e.Crashed })},
				{"answer", count("k(k−1)/2", func(e Election) int { return pairs(e.elections()) })},
				{"coordinator", count("m−1", func(e Election) int { return e.Live() - 1 })},
			},
			Sent: count("k² + k(f−1) + m−1", func(e Election) int {
				k := e.elections()
				return k*k + k*(e.Crashed-1) + e.Live() - 1
			}),
			Delivered: count("k² − k + m−1", func(e Election) int {
				k := e.elections()
				return k*k - k + e.Live() - 1
			}),
			Decided: formula("RTT, and T more unless the highest that lives starts", func(e Election) float64 {
				return e.Wait() + unless(e.highestStarts())
			}),
			Turnaround: formula("T+RTT, and T more unless the highest that lives starts", func(e Election) float64 {
				return 1 + e.Wait() + unless(e.highestStarts())
			}),
			Growth: "N²", Source: derived, Holds: crashed, Typical: halfOfThem,
		},
		{
			Algorithm: "bully", Case: "f crashed, the highest that lives starts, or more with it", Convention: bullyDetector,
			Kinds: []Kind{{"coordinator", count("m−1", func(e Election) int { return e.Live() - 1 })}},
			Sent:  count("m−1", func(e Election) int { return e.Live() - 1 }), Delivered: count("m−1", func(e Election) int { return e.Live() - 1 }),
			Decided: constant("0", 0), Turnaround: constant("T", 1),
			Growth: "N", Source: derived,
			Holds: func(e Election) bool { return crashed(e) && e.highestStarts() },
			Typical: func(n int) (Election, bool) {
				return Election{N: n, Crashed: n / 2, Initiators: []int{n - n/2}}, n >= 4
			},
		},
		{
			Algorithm: "bully", Case: "f crashed, any start but the highest that lives", Convention: bullyDetector,
			// Those who start give a head start, of half an RTT, to who does not know yet. Then
			// they ask those above who live; who is asked by them asks all above, for it hears
			// of the crash only then. The highest answers the first who asks, leads at once,
			// and tells the other k−2 that ask.
			Kinds: []Kind{
				{"election", count("k(k−1)/2 + f for each that is asked and has not started", func(e Election) int {
					return pairs(e.elections()) + e.Crashed*e.asked()
				})},
				{"answer", count("(k−1)(k−2)/2 + 1", func(e Election) int { return pairs(e.elections()-1) + 1 })},
				{"coordinator", count("m−1 + k−2", func(e Election) int { return e.Live() - 1 + e.elections() - 2 })},
			},
			Sent: count("k² − k + m−1 + f for each that is asked and has not started", func(e Election) int {
				k := e.elections()
				return k*k - k + e.Live() - 1 + e.Crashed*e.asked()
			}),
			Delivered: count("k² − k + m−1", func(e Election) int {
				k := e.elections()
				return k*k - k + e.Live() - 1
			}),
			Decided:    formula("T+RTT/2", func(e Election) float64 { return 1 + e.Wait()/2 }),
			Turnaround: formula("2T+RTT/2 (3T)", func(e Election) float64 { return 2 + e.Wait()/2 }),
			Growth:     "N²", Source: derived,
			Holds: func(e Election) bool { return crashed(e) && !e.highestStarts() }, Typical: halfOfThem,
		},
	}
}

// bullyNobodyCrashed is elections that an application calls for.
func bullyNobodyCrashed() []Row {
	nobody := func(e Election) bool { return e.Crashed == 0 && e.N >= 2 }
	var rows []Row
	for _, c := range []Convention{bullyTextbook, bullyDetector} {
		rows = append(rows,
			Row{
				Algorithm: "bully", Case: "nobody crashed, the highest starts", Convention: c,
				Kinds: []Kind{{"coordinator", count("N−1", func(e Election) int { return e.N - 1 })}},
				Sent:  count("N−1", func(e Election) int { return e.N - 1 }), Delivered: count("N−1", func(e Election) int { return e.N - 1 }),
				Decided: constant("0", 0), Turnaround: constant("T", 1),
				Growth: "N", Source: notes,
				Holds:   func(e Election) bool { return nobody(e) && e.one() && e.highestStarts() },
				Typical: func(n int) (Election, bool) { return Election{N: n, Initiators: []int{n}}, n >= 2 },
			},
			Row{
				Algorithm: "bully", Case: "nobody crashed, one starts that is not the highest", Convention: c,
				// The k−1 below the highest take part. The leader answers each of them, and tells
				// it what it knows.
				Kinds: []Kind{
					{"election", count("k(k−1)/2", func(e Election) int { return pairs(e.elections()) })},
					{"answer", count("k(k−1)/2", func(e Election) int { return pairs(e.elections()) })},
					{"coordinator", count("k−1", func(e Election) int { return e.elections() - 1 })},
				},
				Sent:      count("k²−1", func(e Election) int { return e.elections()*e.elections() - 1 }),
				Delivered: count("k²−1", func(e Election) int { return e.elections()*e.elections() - 1 }),
				Decided:   constant("0", 0), Turnaround: constant("0: the leader stays", 0),
				Growth: "N²", Source: derived,
				Holds:   func(e Election) bool { return nobody(e) && e.one() && !e.highestStarts() },
				Typical: func(n int) (Election, bool) { return Election{N: n, Initiators: []int{1}}, n >= 2 },
			},
			Row{
				Algorithm: "bully", Case: "nobody crashed, everybody starts", Convention: c,
				// The leader leads anew at once, and answers each of the N−1 that ask it with
				// a Coordinator. The others answer each other.
				Kinds: []Kind{
					{"election", count("N(N−1)/2", func(e Election) int { return pairs(e.N) })},
					{"answer", count("(N−1)(N−2)/2", func(e Election) int { return pairs(e.N - 1) })},
					{"coordinator", count("2(N−1)", func(e Election) int { return 2 * (e.N - 1) })},
				},
				Sent:      count("N²−1", func(e Election) int { return e.N*e.N - 1 }),
				Delivered: count("N²−1", func(e Election) int { return e.N*e.N - 1 }),
				Decided:   constant("0", 0), Turnaround: constant("T", 1),
				Growth: "N²", Source: derived,
				Holds:   func(e Election) bool { return nobody(e) && e.everybodyStarts() },
				Typical: func(n int) (Election, bool) { return Election{N: n}, n >= 2 },
			},
		)
	}
	return rows
}

// asked is how many from i to m do not start.
func (e Election) asked() int { return e.elections() - e.Starting() }

// unless is one message time, unless that is so.
func unless(so bool) float64 {
	if so {
		return 0
	}
	return 1
}
