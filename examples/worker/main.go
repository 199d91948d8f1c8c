// Command worker does its work on the leader only, so on one machine at a time. A quorum of the machines must run, so
// three machines survive the failure of one.
//
//	worker a 10.0.0.1:7400                the first
//	worker b 10.0.0.2:7400 10.0.0.1:7400  the others name a running member
//	worker c 10.0.0.3:7400 10.0.0.1:7400
package main

import (
	"context"
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
		Name: os.Args[1], Listen: os.Args[2], Bootstrap: len(os.Args) == 3, Join: os.Args[3:], DataDir: os.Args[1] + ".data",
		SecretFile:   os.Getenv("ELECT_SECRET_FILE"), // required unless LISTEN is on the loopback; elect secret creates one
		DrainTimeout: 10 * time.Second,
	}
	if err := cluster.Run(ctx, config, work); err != nil {
		log.Fatal(err)
	}
}

// work runs until ctx ends with the leadership of this node.
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
