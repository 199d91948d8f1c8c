// Package elector states what an application needs of an election, whatever elects: a member of package cluster, or a
// contender in an etcd (package elector/etcd) or for a Lease of Kubernetes (package elector/kubernetes). The work of
// the application stays when the engine changes.
//
//	var e elector.Elector = node.Elector() // or: e, err := etcd.New(config)
//	err := elector.Run(ctx, e, func(ctx context.Context, l elector.Leadership) error {
//		return work(ctx) // while this contender leads
//	})
//
// # Guarantees
//
// [Elector] lists the duties that every elector fulfills. Package electortest tests them under faults. [Claims] lists
// the promises in which electors differ. An application that depends on one of these promises checks it at its start.
//
// # Non-guarantees
//
// The interface has no priority, no list of members and no epoch: etcd has none of them. [Claims].Preempts states
// whether a live leader may be replaced for a better one. [Leadership].Token replaces the epoch.
//
// No elector can stop work that ignores its context. A resource that must not suffer from such work checks tokens: see
// package fence.
package elector

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Elector is one contender of an election. All methods may be called at any time and from any goroutine.
//
// The duties of an elector:
//
//   - While Run runs, the contender takes part in the election, also without a call of Lead. At the end of a leadership
//     the following happens in this order: the contexts of the work end; Watch and Leader no longer name this
//     contender; the work returns; the elector gives the leadership up. So the work of the next leader does not overlap
//     with work that returns within the drain timeout of the engine.
//   - A leadership that is lost ends without that order, because the elector has nothing left to give up. With
//     Claims.Exclusive the contexts end before the leadership can be another's, by the clock of this process, even if
//     the elector receives nothing.
//   - Vacancy is a state. Watch reports it, and no fault of the engine ends Watch before Run has returned.
//   - When Run has returned, the work has been cancelled, and no goroutine or connection of the elector is left. Work
//     that ignores its context is the one exception.
type Elector interface {
	// Run takes part in the election until ctx ends, or the elector must stop. It returns nil in the first case, and
	// otherwise the reason. An engine that does not respond is no reason: Run tries again. When ctx ends, the leadership
	// ends in the order above, and Run returns in bounded time. Run can be called once. A second call returns
	// ErrAlreadyStarted, and does not disturb the first one.
	Run(ctx context.Context) error

	// Lead calls work whenever this contender leads, in the calling goroutine, until work returns during a leadership,
	// ctx ends, or Run has returned. The context of work ends with the leadership, and context.Cause returns the reason:
	// ErrLost, ErrResigned or ErrStopped for errors.Is. Lead ignores the result of work that returns after the end of
	// the leadership, and waits for the next one. So one Lead never runs work twice at a time.
	//
	// If work returns while the contender leads, the contender resigns, and Lead returns the result of work. If there is
	// no other contender, it leads on without this work. In other cases Lead returns context.Cause(ctx) or an
	// ErrStopped. Before Run, Lead waits.
	//
	// Several calls at the same time each run their work in every leadership. The first work that returns resigns for
	// all of them, and the leadership is given up when all have returned.
	Lead(ctx context.Context, work func(ctx context.Context, l Leadership) error) error

	// Leader returns the leader that this contender knows; false if it knows none, before Run and after it. What it
	// returns may be outdated. Only the context of work tells whether this contender leads.
	Leader() (Leadership, bool)

	// Watch iterates over the states: first the current one, then each later one. A slow reader skips all but the
	// latest. The iteration ends with ctx, or after the last state, when Run has returned. The last state has no
	// leader. A reader never delays the elector.
	Watch(ctx context.Context) iter.Seq[State]

	// Resign gives up the leadership, in the order above, and returns nil when another contender leads. It returns nil
	// at once if this contender does not lead. If there is no other contender, the error is ErrNoOther, and nothing has
	// changed. Other errors are context.Cause(ctx), ErrStopped, and an error of the engine. The end of ctx does not
	// cancel a resignation. Work may call Resign with its own context: that context ends, and work should then return.
	// Two calls at the same time are one resignation. The contender may be elected again afterwards.
	Resign(ctx context.Context) error

	// Claims returns what this elector promises beyond the duties. It never changes.
	Claims() Claims
}

// Claims are the promises in which electors differ.
type Claims struct {
	// Exclusive: at most one contender works at any moment, by the clocks of their processes, as long as the rates of
	// all clocks are right within the drift that the engine allows. Leadership.Deadline is bounded. Without it each
	// side of a partition may have a leader.
	Exclusive bool
	// RisingTokens: a later leadership has a higher token, and no two leaderships have the same one, under any fault.
	// Without it, both hold only while no fault divides the contenders.
	RisingTokens bool
	// Preempts: a contender with a higher priority replaces a live leader. The engine's settings state the priority.
	// Without it a leader leads until it stops, resigns or fails.
	Preempts bool
}

// Leadership names a leader.
type Leadership struct {
	// Name is the name of the contender that leads.
	Name string
	// Token is the fencing token of the leadership, at least 1: the epoch in package cluster, the create revision of the
	// leader's key in etcd, and the resource version that the leader has replaced in Kubernetes. Tokens are comparable
	// only within Scope, and only with Claims.RisingTokens.
	Token uint64
	// Scope identifies the sequence of the tokens: the ID of the cluster; a hash of the ID of the etcd cluster and the
	// prefix; or a hash of the namespace and the name of the Lease. Tokens of different scopes have no order. Package
	// fence takes both: fence.Token{Cluster: l.Scope, Number: l.Token}.
	Scope [16]byte
	// Meta is what the leader publishes of itself, such as the address of its service. It may be empty for a while after
	// the election. The receiver must not change it.
	Meta map[string]string

	deadline func() (time.Time, bool)
}

// WithDeadline returns l with a function for Deadline. It is for an Elector, which calls it for the Leadership that it
// passes to work.
func (l Leadership) WithDeadline(deadline func() (end time.Time, bounded bool)) Leadership {
	l.deadline = deadline
	return l
}

// Deadline returns the time at which the leadership ends if it is not renewed. An elector renews it while the engine
// responds. It is meaningful on the Leadership that was passed to work, with Claims.Exclusive; otherwise bounded is
// false. A long step of the work may check first that enough time is left.
func (l Leadership) Deadline() (end time.Time, bounded bool) {
	if l.deadline == nil {
		return end, false
	}
	return l.deadline()
}

// State is what a contender knows of the leadership.
type State struct {
	// Leader is the leader. Its Token is zero if no leader is known.
	Leader Leadership
	// IsLeader is set if this contender leads.
	IsLeader bool
	// Cause is the reason for the end of this contender's last leadership: see Elector.Lead. It is nil while this
	// contender leads, and if it never did.
	Cause error
}

// HasLeader reports whether a leader is known.
func (s State) HasLeader() bool { return s.Leader.Token != 0 }

// Reasons for the end of a leadership, or for the failure of a call. An elector wraps them in errors that say more.
var (
	// ErrLost: another contender leads, or the elector can no longer exclude that.
	ErrLost = errors.New("elector: the leadership was lost")
	// ErrResigned: this contender has resigned.
	ErrResigned = errors.New("elector: the contender resigned")
	// ErrStopped: Run has returned, or is about to.
	ErrStopped = errors.New("elector: the contender stopped")
	// ErrNoOther: no other contender can lead.
	ErrNoOther = errors.New("elector: no other contender can lead")
	// ErrAlreadyStarted: Run was called before.
	ErrAlreadyStarted = errors.New("elector: the contender was started before: create a new one")
)

// Run runs e, and calls work while e leads, until ctx ends, work returns during a leadership, or e must stop. Then the
// leadership is given up, and Run returns.
//
// The error is nil if ctx has ended. Otherwise it is the error of work, or the reason why e stopped.
func Run(ctx context.Context, e Elector, work func(ctx context.Context, l Leadership) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() {
		defer stop() // an elector that could not start ends Lead
		stopped <- e.Run(running)
	}()
	err := e.Lead(running, work)
	if errors.Is(err, ErrStopped) || running.Err() != nil && errors.Is(err, context.Cause(running)) {
		err = nil // Run of the elector says why it stopped
	}
	stop()
	return errors.Join(err, <-stopped)
}
