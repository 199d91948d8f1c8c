package sim

import "time"

// perfect is the speed of a clock that is right, in parts per million.
const perfect = 1_000_000

// clock is the clock of one node, which may be slow or fast. It never goes back.
// All of it is in whole numbers: a run is the same on every machine.
type clock struct {
	ppm   int64         // its speed
	since time.Duration // the time of the world when it got that speed
	shown time.Duration // what it showed then
}

// scale returns d·by/of, rounded down.
func scale(d time.Duration, by, of int64) time.Duration {
	whole, rest := int64(d)/of, int64(d)%of
	return time.Duration(whole*by + rest*by/of)
}

// at is what the clock shows at a time of the world.
func (c *clock) at(now time.Duration) time.Duration {
	if c.ppm == perfect {
		return c.shown + now - c.since
	}
	return c.shown + scale(now-c.since, c.ppm, perfect)
}

// when is the time of the world at which the clock first shows that much.
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
