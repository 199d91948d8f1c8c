// Command worker does its work on one machine at a time: the one that leads. A majority of the machines must run,
// so it takes three to do without one.
//
//	worker a 10.0.0.1:7400                the first
//	worker b 10.0.0.2:7400 10.0.0.1:7400  the others name one that runs
//	worker c 10.0.0.3:7400 10.0.0.1:7400
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/elect-go/elect/cluster"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("worker: want NAME LISTEN [PEER ...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config := cluster.Config{
		Name: os.Args[1], Listen: os.Args[2], Bootstrap: len(os.Args) == 3, Join: os.Args[3:], Data: os.Args[1] + ".data",
		SecretFile: os.Getenv("ELECT_SECRET_FILE"), // needed elsewhere than on the loopback: elect secret makes one
	}
	if err := run(ctx, config, work); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// run takes part in elections, and has the work done while this node leads, until ctx ends or the work
// returns. Then another does it: no sooner than it has returned here.
func run(ctx context.Context, config cluster.Config, work func(context.Context, cluster.Leadership) error) error {
	node, err := cluster.New(config, cluster.WithDrain(10*time.Second))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- node.Run(ctx) }()
	err = node.Lead(ctx, work)
	stop()
	return errors.Join(err, <-stopped)
}

// work goes on while this node leads: then ctx ends.
func work(ctx context.Context, l cluster.Leadership) error {
	for ctx.Err() == nil {
		fmt.Printf("%s works in epoch %d\n", l.Name, l.Epoch)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}
