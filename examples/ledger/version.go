package main

import (
	"context"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/etcd"
)

// version is one of the three versions of a service that moves from its own cluster to an etcd: docs/outgrowing.md.
type version string

const (
	embedded version = "embedded" // the cluster elects
	both     version = "both"     // a member that leads in the cluster takes part in the election by etcd
	external version = "external" // etcd elects
)

// run works whenever this process leads in what its version asks for, until ctx ends.
func (v version) run(ctx context.Context, own cluster.Config, other etcd.Config, work func(context.Context, elector.Leadership) error) error {
	if v == external {
		return runIn(ctx, other, work)
	}
	node, err := cluster.New(own)
	if err != nil {
		return err
	}
	if v == embedded {
		return elector.Run(ctx, node.Elector(), work)
	}
	return elector.Run(ctx, node.Elector(), func(ctx context.Context, _ elector.Leadership) error { return runIn(ctx, other, work) })
}

// runIn works whenever this process leads in the etcd.
func runIn(ctx context.Context, c etcd.Config, work func(context.Context, elector.Leadership) error) error {
	e, err := etcd.New(c)
	if err != nil {
		return err
	}
	return elector.Run(ctx, e, work)
}
