package cluster

import (
	"context"
	"iter"
	"time"

	"github.com/elect-go/elect/elector"
)

// Elector returns n as an [elector.Elector], for an application that may later move to another engine. The errors of
// this package are those of package elector for errors.Is.
//
// The node claims [elector.Claims].Exclusive with a lease, unless its options trust evidence; RisingTokens with the
// lease or with vote; and Preempts if the highest member leads, as with bully and ring. Scope is the ID of the cluster.
func (n *Node) Elector() elector.Elector { return nodeElector{n} }

type nodeElector struct{ n *Node }

func (e nodeElector) Run(ctx context.Context) error { return e.n.Run(ctx) }

func (e nodeElector) Lead(ctx context.Context, work func(context.Context, elector.Leadership) error) error {
	return e.n.Lead(ctx, func(ctx context.Context, l Leadership) error { return work(ctx, l.general()) })
}

func (e nodeElector) Leader() (elector.Leadership, bool) {
	l, known := e.n.Leader()
	return l.general(), known
}

func (e nodeElector) Watch(ctx context.Context) iter.Seq[elector.State] {
	return func(yield func(elector.State) bool) {
		for s := range e.n.Watch(ctx) {
			if !yield(elector.State{Leader: s.Leader.general(), IsLeader: s.IsLeader, Cause: s.Cause}) {
				return
			}
		}
	}
}

func (e nodeElector) Resign(ctx context.Context) error { return e.n.Resign(ctx, 0) }

func (e nodeElector) Claims() elector.Claims {
	c, l := e.n.spec.Claims, e.n.config.Lease
	return elector.Claims{
		Exclusive:    !l.IsOff() && !l.TrustEvidence,
		RisingTokens: c.OneLeaderPerEpoch && c.NeedsQuorum,
		Preempts:     c.HighestLeads,
	}
}

// general returns l without what only this package has. It is empty if no leader is known.
func (l Leadership) general() elector.Leadership {
	if l.ID.IsZero() {
		return elector.Leadership{}
	}
	g := elector.Leadership{Name: l.Name, Token: l.Token, Scope: l.Cluster, Meta: l.Meta()}
	if l.task != nil {
		g = g.WithDeadline(func() (time.Time, bool) { return l.Deadline() })
	}
	return g
}

// reason is an error with the words of this package that is also an error of package elector.
type reason struct {
	text string
	kind error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.kind }

func newReason(text string, kind error) error { return &reason{text, kind} }
