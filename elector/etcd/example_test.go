package etcd_test

import (
	"context"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/etcd"
)

// A service that migrates from the embedded election to etcd works only while it leads in both: see docs/outgrowing.md.
func Example_move() {
	ctx := context.Background()
	work := func(ctx context.Context, l elector.Leadership) error { <-ctx.Done(); return nil }
	node, err := cluster.New(cluster.Config{Name: "web3", Listen: "10.0.0.3:7400", DataDir: "/var/lib/elect", SecretFile: "/etc/elect.secret", Join: []string{"10.0.0.1:7400"}})
	if err != nil {
		panic(err)
	}
	config := etcd.Config{Endpoints: []string{"10.0.0.9:2379"}, Prefix: "/service/leader", Name: "web3"}
	err = elector.Run(ctx, node.Elector(), func(ctx context.Context, _ elector.Leadership) error {
		inner, err := etcd.New(config)
		if err != nil {
			return err
		}
		return elector.Run(ctx, inner, work)
	})
	if err != nil {
		panic(err)
	}
}
