package kubernetes

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/elect-go/elect/elector"
)

// lease is what a contender has read of the Lease.
type lease struct {
	now      func() time.Duration
	duration time.Duration                      // of a Lease that does not state it
	show     func(elector.Leadership)           // publishes the leader that the Lease shows
	leader   func(v version) elector.Leadership // that a version shows
	mu       sync.Mutex
	known    bool // something was read
	current  version
	since    time.Duration // when the contender first saw the current record
	read     time.Duration // when the contender last read something that was not outdated
	changed  chan struct{} // closed at the next change
	expire   *time.Timer   // publishes that no leader is known
}

// reading is what is known of the Lease at one moment.
type reading struct {
	version
	known   bool
	since   time.Duration
	changed <-chan struct{}
}

func newLease(c Config, now func() time.Duration, show func(elector.Leadership)) *lease {
	scope := scopeOf(c)
	l := &lease{now: now, duration: c.LeaseDuration, show: show, changed: make(chan struct{}),
		leader: func(v version) elector.Leadership { return v.leadership(scope) }}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire = time.AfterFunc(c.LeaseDuration, l.publish)
	return l
}

func (l *lease) get() reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	return reading{l.current, l.known, l.since, l.changed}
}

// observe takes over a version that was read. The error is that of parse.
func (l *lease) observe(read *coordinationv1.Lease) error {
	v, err := parse(read)
	if err == nil {
		l.update(v)
	}
	return err
}

// observeDeleted takes over that the Lease was deleted. The resource version is that of the deletion.
func (l *lease) observeDeleted(deleted *coordinationv1.Lease) error {
	v, err := parse(deleted)
	if err == nil {
		l.update(version{number: v.number})
	}
	return err
}

// observeNone takes over that a request that began at a time found no Lease.
func (l *lease) observeNone(began time.Duration) {
	l.mu.Lock()
	isOutdated := l.known && l.read > began // there may be a Lease since
	number := l.current.number + 1          // each later Lease has a higher one than the last
	if l.known && l.current.lease == nil {
		number = l.current.number
	}
	l.mu.Unlock()
	if !isOutdated {
		l.update(version{number: number})
	}
}

// update takes over a version, unless it is older than the current one. A restored backup shows older versions, too:
// when nothing else was read for the duration of a Lease, an older version counts.
func (l *lease) update(v version) {
	l.mu.Lock()
	now := l.now()
	if l.known && v.number < l.current.number && now-l.read < l.duration {
		l.mu.Unlock()
		return
	}
	isNew := !l.known || v.number != l.current.number || (v.lease == nil) != (l.current.lease == nil)
	if !l.known || v.renews(l.current) {
		l.since = now
	}
	l.known, l.current, l.read = true, v, now
	if isNew {
		close(l.changed)
		l.changed = make(chan struct{})
	}
	l.mu.Unlock()
	l.publish()
}

// publish publishes the leader, until its record is older than its duration.
func (l *lease) publish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.since + l.current.duration(l.duration) - l.now()
	if !l.known || left <= 0 {
		l.show(elector.Leadership{})
		return
	}
	l.show(l.leader(l.current))
	l.expire.Reset(left)
}

// stop ends the timer.
func (l *lease) stop() { l.expire.Stop() }
