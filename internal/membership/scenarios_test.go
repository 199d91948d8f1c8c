package membership

// searched is a scenario of TestSearch.
type searched struct {
	scenario
	long  bool // runs only with -long
	limit int  // states; 0: all
}

func left(elections, crashes, mistakes int8) budget {
	return budget{elections: elections, crashes: crashes, mistakes: mistakes}
}

func leases(elections, crashes, renewals int8) budget {
	return budget{elections: elections, crashes: crashes, renewals: renewals}
}

func remove(at, target int) order { return order{at: at - 1, target: target - 1} }

// scenarios returns the scenarios of TestSearch.
func scenarios() (all []searched) {
	add := func(s searched) {
		s.maxTerm = int(s.left.elections)
		all = append(all, s)
	}
	short := func(s scenario) { add(searched{scenario: s}) }
	long := func(s scenario) { add(searched{scenario: s, long: true}) }

	short(scenario{name: "3 members", members: 3, left: left(2, 1, 1)})
	long(scenario{name: "3 members, more faults", members: 3, left: left(3, 2, 1)})
	short(scenario{name: "1 and 1 joins", members: 1, joiners: 1, left: left(3, 2, 1), forgoes: true})
	short(scenario{name: "1 and 1 joins, lease", members: 1, joiners: 1, lease: true, left: budget{elections: 2, crashes: 1, mistakes: 1, renewals: 2}})
	short(scenario{name: "2 and 1 joins", members: 2, joiners: 1, left: left(1, 1, 1), forgoes: true})
	long(scenario{name: "2 and 1 joins, more faults", members: 2, joiners: 1, left: left(2, 1, 1), forgoes: true})
	long(scenario{name: "2 and 1 joins, eager", without: r6Lazy, members: 2, joiners: 1, left: left(2, 1, 1), forgoes: true})
	short(scenario{name: "1 and 2 join", members: 1, joiners: 2, left: left(2, 1, 0)})
	short(scenario{name: "1 and 2 join, lease", members: 1, joiners: 2, lease: true, left: leases(2, 0, 2)})
	short(scenario{name: "1 and 1 joins, takes nothing", members: 1, joiners: 1, mute: true, left: left(2, 1, 0)})
	long(scenario{name: "3 and 1 joins", members: 3, joiners: 1, left: left(2, 1, 0), forgoes: true})
	long(scenario{name: "4 and 1 joins", members: 4, joiners: 1, left: left(2, 0, 0), atomic: true, calmSkip: 8})

	short(scenario{name: "2, one removes the other", members: 2, orders: []order{remove(1, 2)}, left: left(3, 2, 1), forgoes: true})
	short(scenario{name: "2, both leave", members: 2, orders: []order{remove(1, 1), remove(2, 2)}, left: left(2, 1, 0)})
	long(scenario{name: "2, both leave, more faults", members: 2, orders: []order{remove(1, 1), remove(2, 2)}, left: left(3, 1, 1)})
	short(scenario{name: "3, one is removed", members: 3, orders: []order{remove(1, 3)}, left: left(2, 0, 0)})
	long(scenario{name: "3, one is removed, a crash", versions: 6, members: 3, orders: []order{remove(1, 3)}, left: left(2, 1, 0), forgoes: true})
	long(scenario{name: "3, one is removed, a crash, a mistake", versions: 6, members: 3, orders: []order{remove(1, 3)}, left: left(2, 1, 1), forgoes: true})
	long(scenario{name: "3, one is removed, a crash, eager", versions: 6, without: r6Lazy, members: 3, orders: []order{remove(1, 3)}, left: left(2, 1, 0), forgoes: true})
	long(scenario{name: "3, one leaves, a crash", versions: 6, members: 3, orders: []order{remove(3, 3)}, left: left(2, 1, 0), forgoes: true})
	long(scenario{name: "3, two remove", members: 3, orders: []order{remove(1, 3), remove(2, 1)}, left: left(2, 0, 0)})
	long(scenario{name: "3, two remove, a crash", versions: 6, members: 3, orders: []order{remove(1, 3), remove(2, 1)}, left: left(2, 1, 0), calmSkip: 2})
	long(scenario{name: "4, one is removed", members: 4, orders: []order{remove(1, 4)}, left: left(2, 0, 0), atomic: true})
	long(scenario{name: "4, two remove", members: 4, orders: []order{remove(1, 4), remove(2, 1)}, left: left(2, 0, 0), atomic: true, calmSkip: 4})
	add(searched{scenario: scenario{name: "5, one is removed", members: 5, orders: []order{remove(1, 5)}, left: left(2, 0, 0), atomic: true, calmSkip: 8}, long: true, limit: 1_000_000})
	long(scenario{name: "2 and 1 joins, one is removed", versions: 6, members: 2, joiners: 1, orders: []order{remove(1, 2)}, left: left(2, 1, 0)})
	long(scenario{name: "3 and 1 joins, one is removed", members: 3, joiners: 1, orders: []order{remove(1, 2)}, left: left(2, 0, 0), atomic: true, calmSkip: 4})

	short(scenario{name: "2, a priority changes", members: 2, restate: true, left: left(2, 1, 1)})
	short(scenario{name: "3, the third is emptied", members: 3, joiners: 1, absent: 3, left: left(2, 1, 0)})
	long(scenario{name: "4, a suspected member expires", members: 4, expires: true, left: left(2, 1, 0), atomic: true, forgoes: true, versions: 6})
	short(scenario{name: "3, a deposed leader lingers", members: 3, lingers: true, orders: []order{remove(1, 3)}, left: left(2, 0, 0)})

	short(scenario{name: "3, lease", members: 3, lease: true, left: leases(2, 1, 2)})
	long(scenario{name: "3, lease, more faults", members: 3, lease: true, left: leases(3, 1, 3)})
	long(scenario{name: "2 and 1 joins, lease", members: 2, joiners: 1, lease: true, left: leases(2, 1, 2)})
	long(scenario{name: "3, one is removed, lease", versions: 6, members: 3, orders: []order{remove(1, 3)}, lease: true, left: leases(2, 1, 2)})

	short(scenario{name: "list of 2", members: 2, listed: true, left: left(2, 1, 0)})
	short(scenario{name: "list of 3", members: 3, listed: true, left: left(1, 1, 0)})
	long(scenario{name: "list of 3, more faults", members: 3, listed: true, left: left(2, 1, 0)})
	short(scenario{name: "list of 3, the third is late", members: 3, listed: true, late: 3, left: left(1, 1, 0)})
	short(scenario{name: "list of 3, the first is emptied", members: 3, listed: true, emptied: []int{1}, left: left(1, 0, 0), atomic: true})
	long(scenario{name: "list of 3, the first is emptied, two elections", members: 3, listed: true, emptied: []int{1}, left: left(2, 0, 0)})
	long(scenario{name: "list of 3, the first is emptied, a crash", members: 3, listed: true, emptied: []int{1}, left: left(1, 1, 0), atomic: true})
	long(scenario{name: "list of 3, the second is emptied", members: 3, listed: true, emptied: []int{2}, left: left(2, 0, 0), atomic: true})
	long(scenario{name: "list of 3, the first is emptied twice", members: 3, listed: true, emptied: []int{1, 4}, left: left(1, 0, 0), atomic: true})
	long(scenario{name: "list of 3, the first and the second are emptied", members: 3, listed: true, emptied: []int{1, 2}, left: left(1, 0, 0), atomic: true})
	long(scenario{name: "list of 4, the first is emptied", members: 4, listed: true, emptied: []int{1}, left: left(1, 0, 0), atomic: true})
	return all
}
