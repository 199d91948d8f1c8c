package command

import "time"

const (
	restartPause = time.Second      // between two runs of a command at one node
	soonTime     = 10 * time.Second // a command that fails within this time, or the lease, has failed soon
	maxStandby   = 5 * time.Minute
)

// backoff computes for how long a member is a standby after its command failed. Without it, the highest
// member with a command that fails at once takes the leadership again and again from a member whose
// command works.
type backoff struct {
	lease    time.Duration
	failures int // in a row, each soon after the command began
}

// pause returns the time until the member may lead again, after its command ran for some time. It
// doubles with each failure soon after the command began, from restartPause to maxStandby.
func (b *backoff) pause(isFailure bool, ran time.Duration) time.Duration {
	if !isFailure || ran >= max(soonTime, b.lease) {
		b.failures = 0
		return restartPause
	}
	b.failures++
	pause := restartPause
	for range b.failures - 1 {
		pause = min(2*pause, maxStandby)
	}
	return pause
}
