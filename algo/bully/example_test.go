package bully

import (
	"fmt"
	"time"
)

// Bully needs no quorum: a leader that is slow or disconnected is replaced while it still
// leads. There are two leaders until one of them repeats its Coordinator.
func Example_twoLeaders() {
	c := newCluster(Defaults(timing), viewOf(3)) // T is 10 ms, AnnounceInterval is 100 ms
	show := func(what string) {
		fmt.Printf("%3d ms  %s\n", c.Now/time.Millisecond, what)
		for i := 1; i <= 3; i++ {
			l := c.Leader(i)
			switch {
			case l.ID == n(i):
				fmt.Printf("        n%d leads in epoch %d\n", i, l.Epoch)
			default:
				fmt.Printf("        n%d follows %s in epoch %d\n", i, name(l.ID), l.Epoch)
			}
		}
	}
	c.StartAll()
	c.Run(30 * time.Millisecond)
	show("all is well")

	c.Suspect(3, 1, 2) // n3 is alive, but its heartbeats are late
	c.Run(10 * time.Millisecond)
	show("n1 and n2 suspect n3 falsely")

	c.Run(90 * time.Millisecond)
	show("n3 has repeated its Coordinator and learned of epoch 2")

	c.Run(20 * time.Millisecond)
	show("n3 has taken a newer epoch")

	// Output:
	//  30 ms  all is well
	//         n1 follows n3 in epoch 1
	//         n2 follows n3 in epoch 1
	//         n3 leads in epoch 1
	//  40 ms  n1 and n2 suspect n3 falsely
	//         n1 follows n2 in epoch 2
	//         n2 leads in epoch 2
	//         n3 leads in epoch 1
	// 130 ms  n3 has repeated its Coordinator and learned of epoch 2
	//         n1 follows n2 in epoch 2
	//         n2 leads in epoch 2
	//         n3 leads in epoch 1
	// 150 ms  n3 has taken a newer epoch
	//         n1 follows n3 in epoch 3
	//         n2 follows n3 in epoch 3
	//         n3 leads in epoch 3
}

// The highest process takes over from a working leader when it recovers. It inquires first, to
// learn the epoch of that leader.
func Example_recovery() {
	c := newCluster(Defaults(timing), viewOf(3))
	c.DetectionTime = time.Millisecond
	c.Start(1, 2) // n3 is down
	c.Run(40 * time.Millisecond)
	fmt.Println("without n3:", name(c.Leader(1).ID), "leads in epoch", c.Leader(1).Epoch)
	c.Start(3)
	c.Run(30 * time.Millisecond)
	fmt.Println("n3 is back:", name(c.Leader(1).ID), "leads in epoch", c.Leader(1).Epoch)

	// Output:
	// without n3: n2 leads in epoch 1
	// n3 is back: n3 leads in epoch 2
}
