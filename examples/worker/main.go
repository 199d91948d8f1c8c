// Command worker does its work on one machine at a time: the one that leads.
//
//	worker a 10.0.0.1:7400                the first
//	worker b 10.0.0.2:7400 10.0.0.1:7400  the others name one that runs
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/elect-go/elect/cluster"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("worker: want NAME LISTEN [PEER ...]")
	}
	node, err := cluster.New(cluster.Config{
		Name: os.Args[1], Listen: os.Args[2], Bootstrap: len(os.Args) == 3, Join: os.Args[3:], Data: os.Args[1] + ".data",
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(node.Run(context.Background())) }()
	log.Fatal(node.Lead(context.Background(), work))
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
