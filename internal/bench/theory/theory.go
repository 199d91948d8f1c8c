// Package theory contains the theoretical cost of elections, in messages and time, as a table of
// closed formulas. Reports print them, and draw them as lines beside the measured values. A test
// compares each row with the counts of the simulator: with -long for every N from 2 to 64.
//
// The table is a page for readers, theory.md. It defines the symbols of the formulas, what is
// counted under which [Convention], and the rows.
package theory

import (
	"cmp"
	"slices"
)

// Election contains the properties of an election on which its cost depends.
type Election struct {
	N       int // members
	Crashed int // f; the highest processes crash
	// Initiators are the ranks of the processes that start the election, all at once; nil for all
	// live processes.
	Initiators []int
	// Order is the ranks in the order of the ring, clockwise; nil for 1 to N.
	Order []int
	// RoundTrip is the RTT, in T; 2 if zero. It is at least 2.
	RoundTrip float64
}

// Live is m.
func (e Election) Live() int { return e.N - e.Crashed }

// Starts reports whether the process of that rank starts the election.
func (e Election) Starts(rank int) bool {
	return rank <= e.Live() && (e.Initiators == nil || slices.Contains(e.Initiators, rank))
}

// Starting returns the number of initiators.
func (e Election) Starting() int {
	if e.Initiators == nil {
		return e.Live()
	}
	return len(e.Initiators)
}

// Lowest is i.
func (e Election) Lowest() int {
	if e.Initiators == nil {
		return 1
	}
	return slices.Min(e.Initiators)
}

// Wait is the RTT.
func (e Election) Wait() float64 { return cmp.Or(e.RoundTrip, 2) }

// highestStarts reports whether the highest live process is an initiator.
func (e Election) highestStarts() bool { return e.Starts(e.Live()) }

// elections is k.
func (e Election) elections() int { return e.Live() - e.Lowest() + 1 }

// Convention defines what the processes know and do, and what is counted.
type Convention struct {
	Name string
	Text string

	// Options of the algorithm that differ from its defaults, as name and value.
	Options [][2]string
	// Altered describes the difference from the algorithm of this module; empty if there is none.
	Altered string

	Counting string // what is counted of the messages sent
	// Quiet: the turnaround lasts until the last message has arrived, instead of until the last
	// process knows the leader.
	Quiet bool
}

// Kind gives the number of messages of one kind.
type Kind struct {
	Name string // as in algo.Message
	Sent Formula
}

// Mean names the elections over which a row gives the mean; if it is empty, the row is about single elections.
type Mean string

// The means.
const (
	Single         Mean = ""
	OverInitiators Mean = "initiators" // each live process alone, equally likely
	OverOrders     Mean = "orders"     // all orders of the ring, equally likely
)

// Row is the cost of a kind of election. Times are in T.
type Row struct {
	Algorithm  string
	Case       string // name of the elections of the row
	Convention Convention
	Mean       Mean

	Kinds           []Kind
	Sent, Delivered Formula
	// Decided is the time until the leader knows that it leads. Turnaround is the time until the last
	// live process knows, unless the convention defines another. Both are 0 if the leader stays.
	Decided, Turnaround Formula

	// Growth is the growth of Sent with N: "N", "N log N" or "N²".
	Growth string
	// Source is the publication with the formula, or "derived here".
	Source string

	// Holds reports whether the row is about an election. If the row is a mean, it reports whether
	// the mean includes the election.
	Holds func(Election) bool
	// typical describes one election of N processes for which the row holds.
	typical []condition
}

// Name identifies a row: its algorithm, its case and its convention.
func (r Row) Name() string { return r.Algorithm + ": " + r.Case + " (" + r.Convention.Name + ")" }

// Rows returns the table, grouped by algorithm, with the best known cases first.
func Rows() []Row { return slices.Clone(table()) }

// For returns the row for an election under a convention, or false. If mean is set, the row gives
// that mean, over elections that include e.
func For(algorithm, convention string, mean Mean, e Election) (Row, bool) {
	for _, r := range table() {
		if r.Algorithm == algorithm && r.Convention.Name == convention && r.Mean == mean && r.Holds(e) {
			return r, true
		}
	}
	return Row{}, false
}

// isPossible reports whether e is a possible election.
func isPossible(e Election) bool {
	if e.N < 1 || e.Crashed < 0 || e.Live() < 1 || e.Wait() < 2 || e.Initiators != nil && len(e.Initiators) == 0 {
		return false
	}
	for at, i := range e.Initiators {
		if i < 1 || i > e.Live() || slices.Contains(e.Initiators[:at], i) {
			return false
		}
	}
	return e.Order == nil || permutation(e.Order, e.N)
}

// permutation reports whether order is the numbers from 1 to n in some order.
func permutation(order []int, n int) bool {
	sorted := slices.Sorted(slices.Values(order))
	slices.Reverse(sorted)
	return slices.Equal(sorted, Descending(n))
}

// H is the harmonic number of n.
func H(n int) float64 {
	var sum float64
	for k := n; k >= 1; k-- { // smallest first, which loses no precision
		sum += 1 / float64(k)
	}
	return sum
}
