package bully

import (
	"fmt"
	"time"
)

// Bully has no majority: a leader that is slow, or cut off, is replaced while it still
// leads. Two lead until one of them says again that it leads.
func Example_twoLeaders() {
	c := newCluster(Defaults(timing), viewOf(3)) // T is 10 ms, a leader repeats itself every 100 ms
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

	c.Suspect(3, 1, 2) // n3 is alive: its heartbeats were late
	c.Run(10 * time.Millisecond)
	show("n1 and n2 have suspected n3, wrongly")

	c.Run(90 * time.Millisecond)
	show("n3, which leads since 20 ms, has said so again, and is told better")

	c.Run(20 * time.Millisecond)
	show("n3 has contested it, with a newer epoch")

	// Output:
	//  30 ms  all is well
	//         n1 follows n3 in epoch 1
	//         n2 follows n3 in epoch 1
	//         n3 leads in epoch 1
	//  40 ms  n1 and n2 have suspected n3, wrongly
	//         n1 follows n2 in epoch 2
	//         n2 leads in epoch 2
	//         n3 leads in epoch 1
	// 130 ms  n3, which leads since 20 ms, has said so again, and is told better
	//         n1 follows n2 in epoch 2
	//         n2 leads in epoch 2
	//         n3 leads in epoch 1
	// 150 ms  n3 has contested it, with a newer epoch
	//         n1 follows n3 in epoch 3
	//         n2 follows n3 in epoch 3
	//         n3 leads in epoch 3
}

// The highest bullies: it takes over from a leader that works well. It was down, and asks first
// in which epoch that one leads.
func Example_recovery() {
	c := newCluster(Defaults(timing), viewOf(3))
	c.Detect = time.Millisecond
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
