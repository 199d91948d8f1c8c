package theory_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/exp/stats"

	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.CollectLess()
	m.Run()
}

// most is the largest N that is checked with -long.
const most = 64

// sizes returns the checked N: all with -long, otherwise enough to distinguish formulas of at most the
// second power.
func sizes() []int {
	if testkit.UnderRace {
		return []int{2, 3, 4, 5, 8, 17, 33}
	}
	largest := testkit.Rounds(10, most)
	var all []int
	for n := 2; n <= largest; n++ {
		all = append(all, n)
	}
	if largest < 33 {
		all = append(all, 17, 33)
	}
	return all
}

// TestRows counts elections of many kinds in the simulator. The counts must equal those of every row that holds.
func TestRows(t *testing.T) {
	for name, rows := range together(func(r theory.Row) bool { return r.Mean == theory.Single }) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range sizes() {
				checkRows(t, n, rows)
			}
		})
	}
}

// together returns the wanted rows, grouped by elections that can be counted together.
func together(wanted func(theory.Row) bool) map[string][]theory.Row {
	groups := make(map[string][]theory.Row)
	for _, r := range theory.Rows() {
		if wanted(r) {
			name := r.Algorithm
			for _, o := range r.Convention.Options {
				name += "/" + o[0] + "=" + o[1]
			}
			if r.Convention.Altered != "" {
				name += "/altered"
			}
			groups[name] = append(groups[name], r)
		}
	}
	return groups
}

func checkRows(t *testing.T, n int, rows []theory.Row) {
	checked := make([]bool, len(rows))
	for _, e := range kinds(n, rows) {
		holding := slices.DeleteFunc(slices.Clone(rows), func(r theory.Row) bool { return !r.Holds(e) })
		if len(holding) == 0 {
			continue
		}
		got, err := simulate(t.Context(), holding[0], e)
		if err != nil {
			t.Fatalf("%s, %+v: %v", holding[0].Name(), e, err)
		}
		for at, r := range rows {
			if r.Holds(e) {
				checked[at] = true
				compare(t, r, e, got.under(r.Convention, n))
			}
		}
	}
	for at, r := range rows {
		if _, possible := r.Typical(n); possible && !checked[at] {
			t.Errorf("%s: not checked for N=%d", r.Name(), n)
		}
	}
}

// kinds returns elections of n processes: the typical ones of the rows, and others with few and many crashes, with one,
// some and all initiators, and with rings in different orders.
func kinds(n int, rows []theory.Row) []theory.Election {
	random := rand.New(rand.NewPCG(uint64(n), 0))
	var all []theory.Election
	for _, r := range rows {
		if e, possible := r.Typical(n); possible {
			all = append(all, e)
		}
	}
	var various []theory.Election
	crashes := []int{0, 1, 1 + random.IntN(max(1, (n-1)/2))}
	if n <= 7 {
		crashes = []int{0, 1, 2, 3, 4, 5}
	}
	for _, f := range crashes {
		for _, initiators := range starting(n-f, random) {
			e := theory.Election{N: n, Crashed: f, Initiators: initiators}
			if strings.HasSuffix(rows[0].Algorithm, "ring") && random.IntN(2) == 0 {
				e.Order = shuffled(n, random)
				if f == 1 {
					e.Initiators = []int{e.Before(n)}
				}
			}
			if random.IntN(8) == 0 {
				e.RoundTrip = 5
			}
			various = append(various, e)
		}
	}
	if n > 16 { // large elections take long
		random.Shuffle(len(various), func(i, j int) { various[i], various[j] = various[j], various[i] })
		various = various[:2-n/33]
	}
	return append(all, various...)
}

// starting returns sets of initiators among m live processes.
func starting(m int, random *rand.Rand) [][]int {
	switch {
	case m < 1:
		return nil
	case m <= 4:
		return subsets(m)
	}
	some := slices.DeleteFunc(shuffled(m, random), func(int) bool { return random.IntN(2) == 0 })
	if len(some) == 0 {
		some = nil // all
	}
	return [][]int{nil, {1}, {m - 1}, {m}, {1 + random.IntN(m)}, some}
}

// subsets returns all sets of ranks up to m, except for the empty set.
func subsets(m int) [][]int {
	var sets [][]int
	for bits := 1; bits < 1<<m; bits++ {
		var set []int
		for rank := 1; rank <= m; rank++ {
			if bits>>(rank-1)&1 == 1 {
				set = append(set, rank)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

func shuffled(n int, random *rand.Rand) []int {
	order := random.Perm(n)
	for at := range order {
		order[at]++
	}
	return order
}

func compare(t *testing.T, r theory.Row, e theory.Election, got counted) {
	t.Helper()
	var sum float64
	for _, k := range r.Kinds {
		want := k.Sent.At(e)
		sum += want
		if float64(got.kinds[k.Name]) != want {
			t.Errorf("%s, %+v: %d %s, want %s = %v", r.Name(), e, got.kinds[k.Name], k.Name, k.Sent, want)
		}
	}
	if sum != r.Sent.At(e) {
		t.Errorf("%s, %+v: the kinds make %v, and %s = %v", r.Name(), e, sum, r.Sent, r.Sent.At(e))
	}
	for _, x := range []struct {
		what string
		got  float64
		want theory.Formula
	}{
		{"sent", float64(got.sent), r.Sent}, {"delivered", float64(got.delivered), r.Delivered},
		{"decided after", got.decided, r.Decided}, {"a turnaround of", got.turnaround, r.Turnaround},
	} {
		if want := x.want.At(e); x.got != want {
			t.Errorf("%s, %+v: %s %v, want %s = %v", r.Name(), e, x.what, x.got, x.want, want)
		}
	}
}

// TestMeansOverInitiators compares the means over elections that each process starts once.
func TestMeansOverInitiators(t *testing.T) {
	for name, rows := range together(func(r theory.Row) bool { return r.Mean == theory.OverInitiators }) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range sizes() {
				if n > 20 && n != 33 && n != most {
					continue
				}
				e, possible := rows[0].Typical(n)
				if !possible {
					continue
				}
				var all []theory.Election
				for i := 1; i <= e.Live(); i++ {
					e.Initiators = []int{i}
					all = append(all, e)
				}
				for _, c := range columns(t, rows, all) {
					if mean := stats.Mean(c.got); math.Abs(mean-c.want) > 1e-9*max(c.want, 1) {
						t.Errorf("N=%d: %s %v on the mean, want %v", n, c.what, mean, c.want)
					}
				}
			}
		})
	}
}

// TestMeansOverAllOrders starts all processes of a small ring in every order.
func TestMeansOverAllOrders(t *testing.T) {
	largest := testkit.Rounds(6, 7)
	if testkit.UnderRace {
		largest = 5
	}
	for name, rows := range together(func(r theory.Row) bool { return r.Mean == theory.OverOrders }) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 2; n <= largest; n++ {
				var all []theory.Election
				for order := range orders(n) {
					all = append(all, theory.Election{N: n, Order: order})
				}
				for _, c := range columns(t, rows, all) {
					if mean := stats.Mean(c.got); math.Abs(mean-c.want) > 1e-9*c.want {
						t.Errorf("N=%d: %s %v on the mean of %d orders, want %v", n, c.what, mean, len(all), c.want)
					}
				}
			}
		})
	}
}

// TestMeansOverRandomOrders draws orders of larger rings. The row must lie within four standard errors
// of the mean of a sample, a confidence interval of 99.99 %. The seeds are fixed.
func TestMeansOverRandomOrders(t *testing.T) {
	const sample, deviations = 40, 4
	for name, rows := range together(func(r theory.Row) bool { return r.Mean == theory.OverOrders }) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range sizes() {
				random := rand.New(rand.NewPCG(uint64(n), 2))
				var all []theory.Election
				for range sample {
					all = append(all, theory.Election{N: n, Order: shuffled(n, random)})
				}
				for _, c := range columns(t, rows, all) {
					mean, deviation := stats.MeanAndStdDev(c.got)
					half := deviations * deviation / math.Sqrt(sample)
					if math.Abs(mean-c.want) > half+1e-9*c.want {
						t.Errorf("N=%d: %s %.1f ± %.1f on the mean of %d orders, want %.1f", n, c.what, mean, half, sample, c.want)
					}
					if half > 0.2*c.want {
						t.Errorf("N=%d: %s %.1f ± %.1f: too wide to say anything", n, c.what, mean, half)
					}
				}
			}
		})
	}
}

// column is one number of a row with its counts.
type column struct {
	what string
	got  []float64
	want float64
}

// columns counts all elections by the convention of each row.
func columns(t *testing.T, rows []theory.Row, elections []theory.Election) []column {
	t.Helper()
	var outcomes []outcome
	for _, e := range elections {
		o, err := simulate(t.Context(), rows[0], e)
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, o)
	}
	var all []column
	for _, r := range rows {
		put := func(what string, want theory.Formula, of func(counted) float64) {
			c := column{what: r.Name() + ": " + what, want: want.At(elections[0])}
			for at, e := range elections {
				if !r.Holds(e) {
					t.Fatalf("%s does not hold for %+v", r.Name(), e)
				}
				c.got = append(c.got, of(outcomes[at].under(r.Convention, e.N)))
			}
			all = append(all, c)
		}
		for _, k := range r.Kinds {
			put(k.Name, k.Sent, func(m counted) float64 { return float64(m.kinds[k.Name]) })
		}
		put("sent", r.Sent, func(m counted) float64 { return float64(m.sent) })
		put("delivered", r.Delivered, func(m counted) float64 { return float64(m.delivered) })
		put("decided", r.Decided, func(m counted) float64 { return m.decided })
		put("turnaround", r.Turnaround, func(m counted) float64 { return m.turnaround })
	}
	return all
}

// orders iterates over all orders of a ring of n. A ring has no beginning, so the highest is last.
func orders(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		order := make([]int, n)
		for at := range order {
			order[at] = at + 1
		}
		var permute func(left int) bool
		permute = func(left int) bool {
			if left <= 1 {
				return yield(slices.Clone(order))
			}
			for at := range left {
				order[at], order[left-1] = order[left-1], order[at]
				goOn := permute(left - 1)
				order[at], order[left-1] = order[left-1], order[at]
				if !goOn {
					return false
				}
			}
			return true
		}
		permute(n - 1)
	}
}

// TestTable checks that rows have unique names and no empty cell, and that For finds them.
func TestTable(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range theory.Rows() {
		if names[r.Name()] {
			t.Errorf("two rows are named %s", r.Name())
		}
		names[r.Name()] = true
		for what, text := range map[string]string{
			"source": r.Source, "growth": r.Growth, "convention": r.Convention.Text, "counting": r.Convention.Counting,
			"sent": string(r.Sent), "delivered": string(r.Delivered), "decided": string(r.Decided), "turnaround": string(r.Turnaround),
		} {
			if text == "" {
				t.Errorf("%s: no %s", r.Name(), what)
			}
		}
		e, possible := r.Typical(16)
		if !possible || r.Mean != theory.Single {
			continue
		}
		found, ok := theory.For(r.Algorithm, r.Convention.Name, theory.Single, e)
		if !ok || found.Sent.At(e) != r.Sent.At(e) || found.Turnaround.At(e) != r.Turnaround.At(e) {
			t.Errorf("for what is typical of %s there is %s", r.Name(), found.Name())
		}
	}
	if len(names) < 30 {
		t.Errorf("%d rows", len(names))
	}
}

// Impossible elections, elections without a majority and unknown conventions have no row.
func TestImpossibleElectionHasNoRow(t *testing.T) {
	for name, e := range map[string]theory.Election{
		"no member":            {},
		"all crashed":          {N: 3, Crashed: 3},
		"an initiator crashed": {N: 3, Crashed: 1, Initiators: []int{3}},
		"an initiator twice":   {N: 3, Initiators: []int{1, 1}},
		"no initiator":         {N: 3, Initiators: []int{}},
		"a rank twice":         {N: 3, Order: []int{1, 1, 3}},
		"a rank too few":       {N: 3, Order: []int{1, 2}},
		"an RTT below 2T":      {N: 3, RoundTrip: 1},
	} {
		for _, algorithm := range []string{"bully", "ring", "vote", "textbook-bully", "textbook-ring", "textbook-vote"} {
			for _, c := range conventions(algorithm) {
				if r, ok := theory.For(algorithm, c.Name, theory.Single, e); ok {
					t.Errorf("%s: there is %s", name, r.Name())
				}
			}
		}
	}
	for name, e := range map[string]theory.Election{
		"no majority": {N: 4, Crashed: 2},
	} {
		if r, ok := theory.For("vote", "detector", theory.Single, e); ok {
			t.Errorf("%s: there is %s", name, r.Name())
		}
	}
	if r, ok := theory.For("bully", "gossip", theory.Single, theory.Election{N: 3}); ok {
		t.Errorf("by no convention there is %s", r.Name())
	}
}

// conventions returns the distinct conventions of the rows of an algorithm, in their order.
func conventions(algorithm string) []theory.Convention {
	var all []theory.Convention
	for _, r := range theory.Rows() {
		if r.Algorithm == algorithm && !slices.ContainsFunc(all, func(c theory.Convention) bool { return c.Name == r.Convention.Name }) {
			all = append(all, r.Convention)
		}
	}
	return all
}

func Example() {
	// The worst case of bully at N = 5, under every convention with a row.
	e := theory.Election{N: 5, Crashed: 1, Initiators: []int{1}}
	for _, algorithm := range []string{"bully", "textbook-bully"} {
		for _, c := range conventions(algorithm) {
			if r, ok := theory.For(algorithm, c.Name, theory.Single, e); ok {
				fmt.Printf("%s: %s = %v sent, %v delivered, known to all after %v T\n",
					c.Name, r.Sent, r.Sent.At(e), r.Delivered.At(e), r.Turnaround.At(e))
			}
		}
	}
	// Output:
	// detector: k² − k + m−1 + fa = 18 sent, 15 delivered, known to all after 3 T
	// textbook: N²−N−1 = 19 sent, 15 delivered, known to all after 4 T
	// textbook, coordinator to all: N²−N = 20 sent, 15 delivered, known to all after 4 T
	// textbook, election messages: N(N−1)/2 = 10 sent, 6 delivered, known to all after 4 T
}
