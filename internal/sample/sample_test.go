package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/exp/stats"
)

func of(values ...float64) Sample {
	return Sample{"some", values}
}

func TestEstimate(t *testing.T) {
	require.Equal(t, Estimate{}, of().Estimate())
	require.Equal(t, Estimate{Summary{1, 2, 2, 2, 2, 2, 2}, Interval{2, 2}}, of(2).Estimate())
	require.Equal(t, Estimate{Summary{3, 7, 7, 7, 7, 7, 7}, Interval{7, 7}}, of(7, 7, 7).Estimate())
	e := of(10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5).Estimate()
	require.Equal(t, []float64{0, 5, 9, 10}, []float64{e.Min, e.Median, e.P90, e.Max})
	require.True(t, e.Interval.Low >= 1 && e.Interval.Low < 5 && e.Interval.High > 5 && e.Interval.High <= 9, e.Interval)
	require.Equal(t, e, of(10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5).Estimate(), "the same trials have the same interval")
}

// TestSummarize: quantiles as in R, type 7, which is what spreadsheets have too.
func TestSummarize(t *testing.T) {
	require.Equal(t, Summary{}, Summarize(nil))
	for _, c := range []struct {
		name   string
		values []float64
		want   Summary
	}{
		{"one", []float64{1.5}, Summary{1, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5}},
		{"an even number has its median between two", []float64{4, 1, 3, 2}, Summary{4, 1, 1.3, 2.5, 2.5, 3.7, 4}},
		{"in no order", []float64{10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5}, Summary{11, 0, 1, 5, 5, 9, 10}},
		{"a median is not a mean", []float64{9, 2, 1, 3}, Summary{4, 1, 1.3, 2.5, 3.75, 7.2, 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Summarize(c.values)
			require.Equal(t, c.want.Trials, got.Trials)
			require.InDeltaSlice(t, []float64{c.want.Min, c.want.P10, c.want.Median, c.want.Mean, c.want.P90, c.want.Max},
				[]float64{got.Min, got.P10, got.Median, got.Mean, got.P90, got.Max}, 1e-9)
		})
	}
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[(i*37)%101] = float64(i)
	}
	s := Summarize(hundred)
	require.InDeltaSlice(t, []float64{0, 10, 50, 50, 90, 100}, []float64{s.Min, s.P10, s.Median, s.Mean, s.P90, s.Max}, 1e-9)
}

func TestDurationsAreInMilliseconds(t *testing.T) {
	require.Equal(t, Summarize([]float64{0.5, 2, 3000}), Milliseconds([]time.Duration{2 * time.Millisecond, 3 * time.Second, 500 * time.Microsecond}))
	require.Zero(t, Milliseconds(nil))
}

// exponential draws a sample whose distribution has the median ln 2 · mean.
func exponential(random *rand.Rand, mean float64, size int) Sample {
	values := make([]float64, size)
	for i := range values {
		values[i] = mean * random.ExpFloat64()
	}
	return of(values...)
}

// TestIntervalsHoldTheTruth as often as they claim, or nearly: in 95 of 100 cases. The
// seed is fixed, and so is the outcome.
func TestIntervalsHoldTheTruth(t *testing.T) {
	const cases, size = 200, 30
	random := rand.New(rand.NewPCG(1, 0))
	median, ratio, apart := 0, 0, 0
	for range cases {
		a, b := exponential(random, 1, size), exponential(random, 2, size)
		if a.Estimate().Interval.Contains(math.Ln2) {
			median++
		}
		if a.Over(b).Interval.Contains(0.5) {
			ratio++
		}
		if exponential(random, 1, size).Over(a).Apart() {
			apart++
		}
	}
	require.InDelta(t, 0.95*cases, median, 0.05*cases, "the true median")
	require.InDelta(t, 0.95*cases, ratio, 0.05*cases, "the true ratio")
	require.InDelta(t, 0.05*cases, apart, 0.05*cases, "a difference where there is none")
}

// TestTheUrn: with everything drawn once it has the median of the sample, and over many
// draws each value comes as often as the others.
func TestTheUrn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for _, values := range [][]float64{{3}, {2, 1}, {5, 1, 3}, {4, 2, 8, 6}} {
		u := of(values...).urn()
		seen := make(map[float64]int)
		const times = 100_000
		for range times {
			seen[u.median(random)]++
		}
		sum := 0.0
		for value, count := range seen {
			sum += value * float64(count)
		}
		want := 0.0 // the mean of the medians of all that can be drawn
		all := draw(values, len(values))
		for _, drawn := range all {
			want += stats.Median(drawn)
		}
		require.InEpsilon(t, want/float64(len(all)), sum/times, 0.01, values)
	}
}

// draw returns all ways to draw so many values with replacement.
func draw(values []float64, count int) [][]float64 {
	if count == 0 {
		return [][]float64{nil}
	}
	var all [][]float64
	for _, rest := range draw(values, count-1) {
		for _, value := range values {
			all = append(all, append(slices.Clone(rest), value))
		}
	}
	return all
}

func TestOver(t *testing.T) {
	r := of(6, 6, 6).Over(of(3, 3, 3))
	require.Equal(t, Ratio{Times: 2, Interval: Interval{2, 2}, Defined: true}, r)
	require.True(t, r.Apart())
	require.False(t, of(3, 3).Over(of(3, 3)).Apart())
	for name, r := range map[string]Ratio{
		"to nothing":       of(1).Over(of()),
		"of nothing":       of().Over(of(1)),
		"to zero":          of(1).Over(of(0, 0, 0)),
		"to what may be 0": of(1, 1, 1).Over(of(0, 1, 1)),
	} {
		require.Equal(t, Ratio{}, r, name)
		require.False(t, r.Apart(), name)
	}
	require.Equal(t, 0.0, of(0, 0).Over(of(5, 5)).Times)
}

func TestFitPower(t *testing.T) {
	curve := func(y func(n float64) float64) (Power, error) {
		var xs, ys []float64
		for n := 8.0; n <= 1024; n *= 2 {
			xs, ys = append(xs, n), append(ys, y(n))
		}
		return FitPower(xs, ys)
	}
	for name, c := range map[string]struct {
		y                  func(float64) float64
		exponent, residual float64
		within             float64
	}{
		"N²":          {func(n float64) float64 { return n * n }, 2, 0, 1e-9},
		"5/N":         {func(n float64) float64 { return 5 / n }, -1, 0, 1e-9},
		"a constant":  {func(float64) float64 { return 7 }, 0, 0, 1e-9},
		"N²-N-1":      {func(n float64) float64 { return n*n - n - 1 }, 2.02, 0.03, 0.01},
		"N log N":     {func(n float64) float64 { return n * math.Log(n) }, 1.24, 0.066, 0.01},
		"2N, and N²·": {func(n float64) float64 { return 2 * n * (1 + 0.1*math.Mod(math.Log2(n), 2)) }, 1, 0.05, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := curve(c.y)
			require.NoError(t, err)
			require.InDelta(t, c.exponent, p.Exponent, c.within)
			require.InDelta(t, c.residual, p.Residual, c.within)
			require.InEpsilon(t, c.y(64), p.At(64), 0.15)
		})
	}
}

func TestWhatCannotBeFitted(t *testing.T) {
	for name, points := range map[string][2][]float64{
		"two points":    {{1, 2}, {1, 2}},
		"a point less":  {{1, 2, 3}, {1, 2}},
		"a zero":        {{1, 2, 3}, {0, 2, 3}},
		"below zero":    {{-1, 2, 3}, {1, 2, 3}},
		"no number":     {{1, 2, 3}, {1, math.NaN(), 3}},
		"a single x":    {{2, 2, 2}, {1, 2, 3}},
		"nothing":       {nil, nil},
		"an x of zeros": {slices.Repeat([]float64{0}, 3), {1, 2, 3}},
	} {
		p, err := FitPower(points[0], points[1])
		require.ErrorIs(t, err, ErrFit, name)
		require.Zero(t, p, name)
	}
}
