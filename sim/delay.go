package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// Delay is how long messages are under way, one way. The zero value is no time at
// all.
type Delay struct {
	// Least and Most bound the delay. When they are equal every message takes exactly
	// that long.
	Least, Most time.Duration
	// Heavy says that most messages take about Least and a few take very long: the
	// delay is drawn from a Pareto distribution, with index 1.5, that is cut off at
	// Most. Else all delays between Least and Most are equally likely.
	Heavy bool
}

// Fixed is a delay that is always the same.
func Fixed(d time.Duration) Delay { return Delay{Least: d, Most: d} }

// Uniform is a delay between least and most, all equally likely.
func Uniform(least, most time.Duration) Delay { return Delay{Least: least, Most: most} }

// HeavyTailed is a delay that mostly is about least, and now and then up to most: one
// message in a thousand takes a hundred times least, where most allows it.
func HeavyTailed(least, most time.Duration) Delay {
	return Delay{Least: least, Most: most, Heavy: true}
}

// String is what ParseDelay reads: 1ms, 1ms..5ms or 1ms~200ms.
func (d Delay) String() string {
	switch {
	case d.Least == d.Most:
		return d.Least.String()
	case d.Heavy:
		return d.Least.String() + "~" + d.Most.String()
	}
	return d.Least.String() + ".." + d.Most.String()
}

// Algo is what the factory of an algorithm wants to know where messages take d: a round
// trip is twice the T of the literature, and heartbeats are far apart.
func (d Delay) Algo() algo.Timing {
	return algo.Timing{RoundTrip: 2 * d.Most, Heartbeat: 12 * d.Most}
}

// ErrDelay says that a text is not a delay.
var ErrDelay = errors.New("sim: a delay is 1ms (fixed), 1ms..5ms (uniform) or 1ms~200ms (heavy tailed)")

// ParseDelay reads what String wrote. Its error wraps ErrDelay.
func ParseDelay(text string) (Delay, error) {
	least, most, ranged := strings.Cut(text, "..")
	var heavy bool
	if !ranged {
		least, most, heavy = strings.Cut(text, "~")
	}
	if !ranged && !heavy {
		most = least
	}
	from, err := time.ParseDuration(least)
	to, errTo := time.ParseDuration(most)
	d := Delay{Least: from, Most: to, Heavy: heavy}
	if err != nil || errTo != nil {
		return Delay{}, fmt.Errorf("%w, not %q", ErrDelay, text)
	}
	if why := d.wrong(); why != "" {
		return Delay{}, fmt.Errorf("%w: %s is %s", ErrDelay, text, why)
	}
	return d, nil
}

func (d Delay) wrong() string {
	switch {
	case d.Least < 0:
		return "below 0"
	case d.Most < d.Least:
		return "a range that is empty"
	case d.Most > maxDelay:
		return "above " + maxDelay.String()
	case d.Heavy && d.Least == 0:
		return "heavy tailed and begins at 0"
	}
	return ""
}

// maxDelay keeps sums of times from overflowing.
const maxDelay = 30 * time.Minute

func (d Delay) draw(random *rand.Rand) time.Duration {
	switch {
	case d.Least == d.Most:
		return d.Least
	case d.Heavy:
		return min(heavy(d.Least, random.Uint32()), d.Most)
	}
	return d.Least + time.Duration(random.Int64N(int64(d.Most-d.Least)+1))
}

// heavy returns least / u^(2/3) for a u in (0, 1], by whole numbers: a machine may
// round floating point in its own way, and a seed must give the same run on all.
func heavy(least time.Duration, u uint32) time.Duration {
	// u^(2/3) = x² for the x whose cube is u. With 32 bits of u, x has 11.
	var x uint64
	for bit := uint64(1) << 10; bit > 0; bit >>= 1 {
		if y := x | bit; y*y*y <= uint64(u) {
			x = y
		}
	}
	x++
	const one = 1626 // the largest x there is: its cube is just above 2³²
	return scale(least, one*one, int64(x*x))
}
