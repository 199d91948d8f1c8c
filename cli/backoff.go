package cli

import "time"

const (
	restartPause = time.Second      // between two runs of a command at one node
	soonTime     = 10 * time.Second // a failure within this time, or within the lease, is a failure soon after the start
	maxStandby   = 5 * time.Minute
)

// backoff computes how long a member is on standby after its command failed. Without a backoff, the highest member
// would take the leadership again and again although its command fails at once and the command of another member works.
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
