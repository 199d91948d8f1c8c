package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// Delay is the one-way delay of messages. The zero value is no delay.
type Delay struct {
	// Least and Most are the bounds of the delay. If they are equal, the delay is fixed.
	Least, Most time.Duration
	// Heavy selects a Pareto distribution with index 1.5, limited to Most: most messages take about Least, and a few
	// take very long. Otherwise the distribution is uniform.
	Heavy bool
}

// Fixed returns a constant delay.
func Fixed(d time.Duration) Delay { return Delay{Least: d, Most: d} }

// Uniform returns a uniform distribution between least and most.
func Uniform(least, most time.Duration) Delay { return Delay{Least: least, Most: most} }

// HeavyTailed returns a heavy-tailed distribution. One message in a thousand takes a hundred times least, if most
// allows it.
func HeavyTailed(least, most time.Duration) Delay {
	return Delay{Least: least, Most: most, Heavy: true}
}

// String formats d for ParseDelay: 1ms, 1ms..5ms or 1ms~200ms.
func (d Delay) String() string {
	switch {
	case d.Least == d.Most:
		return d.Least.String()
	case d.Heavy:
		return d.Least.String() + "~" + d.Most.String()
	}
	return d.Least.String() + ".." + d.Most.String()
}

// Algo returns a timing for messages with the delay d. The round trip is twice the T of the literature, and
// heartbeats are rare.
func (d Delay) Algo() algo.Timing {
	return algo.Timing{RoundTrip: 2 * d.Most, Heartbeat: 12 * d.Most}
}

// ErrDelay reports a text that is not a delay.
var ErrDelay = errors.New("sim: a delay is 1ms (fixed), 1ms..5ms (uniform) or 1ms~200ms (heavy tailed)")

// ParseDelay parses the format of String. Its error wraps ErrDelay.
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
		return "heavy tailed and starts at 0"
	}
	return ""
}

// maxDelay prevents an overflow of sums of times.
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

// heavy returns least / u^(2/3) for a u in (0, 1]. It uses integers, so a seed gives the same run on machines that
// round floating-point numbers differently.
func heavy(least time.Duration, u uint32) time.Duration {
	// u^(2/3) = x² for x = u^(1/3). With 32 bits of u, x has 11.
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
