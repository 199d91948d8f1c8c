package cluster_test

import (
	"context"
	"fmt"

	"github.com/elect-go/elect/cluster"
)

// A program that works only while it leads. Alone, it leads at once.
func ExampleNode_Lead() {
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	err = node.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
		fmt.Println(l.Name, "leads in epoch", l.Epoch)
		stop()       // somebody stops the program
		<-ctx.Done() // the work ends with the leadership
		return nil
	})
	fmt.Println(err)
	fmt.Println(<-stopped)
	_, known := node.Leader()
	fmt.Println("a leader is known:", known)
	// Output:
	// n1 leads in epoch 1
	// context canceled
	// <nil>
	// a leader is known: false
}
