package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestDelayRoundTrip(t *testing.T) {
	for text, want := range map[string]Delay{
		"1ms": Fixed(ms), "0s": {}, "1ms..5ms": Uniform(ms, 5*ms), "1ms~200ms": HeavyTailed(ms, 200*ms),
	} {
		got, err := ParseDelay(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseDelay(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "fast", "1", "-1ms", "5ms..1ms", "1ms..", "..1ms", "1ms~", "0s~1s", "1ms..2ms~3ms", "48h"} {
		if got, err := ParseDelay(text); !errors.Is(err, ErrDelay) {
			t.Errorf("ParseDelay(%q) = %v, %v; want ErrDelay", text, got, err)
		}
	}
}

// Each kind of delay has its own distribution between the minimum and the maximum.
func TestDelayDistribution(t *testing.T) {
	const draws = 100_000
	for _, test := range []struct {
		delay        Delay
		median, p999 [2]time.Duration // lower and upper bound of each
	}{
		{Fixed(ms), [2]time.Duration{ms, ms}, [2]time.Duration{ms, ms}},
		{Uniform(ms, 3*ms), [2]time.Duration{19 * ms / 10, 21 * ms / 10}, [2]time.Duration{29 * ms / 10, 3 * ms}},
		// P(delay > k·least) is k^-1.5.
		{HeavyTailed(ms, time.Hour/4), [2]time.Duration{15 * ms / 10, 17 * ms / 10}, [2]time.Duration{80 * ms, 125 * ms}},
		{HeavyTailed(ms, 10*ms), [2]time.Duration{15 * ms / 10, 17 * ms / 10}, [2]time.Duration{10 * ms, 10 * ms}},
	} {
		random := rand.New(rand.NewPCG(1, 0))
		all := make([]time.Duration, draws)
		for i := range all {
			all[i] = test.delay.draw(random)
		}
		slices.Sort(all)
		if all[0] < test.delay.Least || all[draws-1] > test.delay.Most {
			t.Errorf("%v: from %v to %v", test.delay, all[0], all[draws-1])
		}
		if m := all[draws/2]; m < test.median[0] || m > test.median[1] {
			t.Errorf("%v: the median is %v, want it in %v", test.delay, m, test.median)
		}
		if p := all[draws*999/1000]; p < test.p999[0] || p > test.p999[1] {
			t.Errorf("%v: one in a thousand is above %v, want that in %v", test.delay, p, test.p999)
		}
	}
}
