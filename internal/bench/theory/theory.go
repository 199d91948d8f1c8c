// Package theory has what elections cost according to theory: how many messages and
// how much time, as closed formulas in a table. It is data, to be printed, drawn as
// lines beside what was measured, and compared with it. A test compares each row with
// what the simulator counts: with -long for every N from 2 to 64.
//
// The data is a page that people read, theory.md: it has the symbols of the formulas, what is
// counted, by which [Convention], and the rows.
package theory

import (
	"cmp"
	"slices"
)

// Election is one election, as far as its cost depends on it.
type Election struct {
	N       int // members
	Crashed int // f; they are the highest
	// Initiators are the ranks of those who start the election, all at once; nil for all
	// that live.
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

// Starting is how many start.
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

// highestStarts reports whether the highest that lives is among those who start.
func (e Election) highestStarts() bool { return e.Starts(e.Live()) }

// elections is k.
func (e Election) elections() int { return e.Live() - e.Lowest() + 1 }

// Convention is what the processes know and do, and what is counted of it.
type Convention struct {
	Name string
	Text string

	// Options of the algorithm that differ from its defaults, as name and value.
	Options [][2]string
	// Altered says what differs from the algorithm of this module; empty if nothing does.
	Altered string

	Counting string // what is counted of the messages sent
	// Quiet: the turnaround lasts until the last message has arrived, and not only until
	// the last process knows.
	Quiet bool
}

// Kind is how many messages of one kind are sent.
type Kind struct {
	Name string // as in algo.Message
	Sent Formula
}

// Mean says of which elections a row gives the mean; of a single one if it is empty.
type Mean string

// The means.
const (
	Single         Mean = ""
	OverInitiators Mean = "initiators" // all that may start, each alone and equally likely
	OverOrders     Mean = "orders"     // all orders of the ring, equally likely
)

// Row is what a kind of election costs. Times are in T.
type Row struct {
	Algorithm  string
	Case       string // the elections that it is about
	Convention Convention
	Mean       Mean

	Kinds           []Kind
	Sent, Delivered Formula
	// Decided is when the leader knows, and Turnaround when the last that lives does, or
	// what the convention says instead. Where nobody changes its mind both are 0.
	Decided, Turnaround Formula

	// Growth is how Sent grows with N: "N", "N log N" or "N²".
	Growth string
	// Source is who says so, or "derived here".
	Source string

	// Holds reports whether the row is about an election. Of a mean it is one of those
	// that the mean is over.
	Holds func(Election) bool
	// typical describes one election of N processes that the row is about.
	typical []condition
}

// Name identifies a row: its algorithm, its case and its convention.
func (r Row) Name() string { return r.Algorithm + ": " + r.Case + " (" + r.Convention.Name + ")" }

// Rows returns the table, those of one algorithm together, the best known cases first.
func Rows() []Row { return slices.Clone(table) }

// For returns the row that says what an election costs by a convention, or false. With mean it
// is one that gives that mean, of elections of which e is one.
func For(algorithm, convention string, mean Mean, e Election) (Row, bool) {
	for _, r := range table {
		if r.Algorithm == algorithm && r.Convention.Name == convention && r.Mean == mean && r.Holds(e) {
			return r, true
		}
	}
	return Row{}, false
}

// sound reports whether there can be such an election.
func sound(e Election) bool {
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
	for k := n; k >= 1; k-- { // the smallest first, for they are added without loss
		sum += 1 / float64(k)
	}
	return sum
}
