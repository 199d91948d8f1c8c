package sim

import "time"

// perfect is the speed of an exact clock in parts per million.
const perfect = 1_000_000

// clock is the clock of one node. It may be slow or fast, and never goes back. It uses integers, so a run is the same
// on all machines.
type clock struct {
	ppm   int64         // speed
	since time.Duration // virtual time of the last change of speed
	shown time.Duration // clock time at since
}

// scale returns d·by/of, rounded down.
func scale(d time.Duration, by, of int64) time.Duration {
	whole, rest := int64(d)/of, int64(d)%of
	return time.Duration(whole*by + rest*by/of)
}

// at returns the clock time at a virtual time.
func (c *clock) at(now time.Duration) time.Duration {
	if c.ppm == perfect {
		return c.shown + now - c.since
	}
	return c.shown + scale(now-c.since, c.ppm, perfect)
}

// when returns the first virtual time at which the clock shows at least shown.
func (c *clock) when(shown time.Duration) time.Duration {
	if shown == never {
		return never
	}
	if c.ppm == perfect {
		return c.since + shown - c.shown
	}
	wait := shown - c.shown
	at := c.since + scale(wait, perfect, c.ppm)
	for c.at(at) < shown {
		at++ // it was rounded down
	}
	return at
}

// setSpeed changes the speed from now on.
func (c *clock) setSpeed(now time.Duration, ppm int64) {
	c.shown, c.since, c.ppm = c.at(now), now, ppm
}
