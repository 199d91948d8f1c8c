package ring

import (
	"fmt"
	"time"
)

// Ring needs no quorum, and only the predecessor of the leader monitors it. If the
// predecessor suspects it falsely, all others follow a new leader, and the old one learns of it last.
func Example_twoLeaders() {
	c := newCluster(viewOf(4)) // T is 10 ms
	show := func(what string) {
		fmt.Printf("%3d ms  %s\n", c.Now/time.Millisecond, what)
		for i := 1; i <= 4; i++ {
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
	c.Run(80 * time.Millisecond)
	show("all is well")

	c.Suspect(4, 3) // n4 is alive, but its heartbeats to n3 are late
	c.Run(60 * time.Millisecond)
	show("n3 alone suspects n4, and skips it in the ring")

	c.Trust(4, 3)
	c.Run(110 * time.Millisecond)
	show("n3 trusts n4 again, and a new election includes it")

	// Output:
	//  80 ms  all is well
	//         n1 follows n4 in epoch 1
	//         n2 follows n4 in epoch 1
	//         n3 follows n4 in epoch 1
	//         n4 leads in epoch 1
	// 140 ms  n3 alone suspects n4, and skips it in the ring
	//         n1 follows n3 in epoch 2
	//         n2 follows n3 in epoch 2
	//         n3 leads in epoch 2
	//         n4 leads in epoch 1
	// 250 ms  n3 trusts n4 again, and a new election includes it
	//         n1 follows n4 in epoch 3
	//         n2 follows n4 in epoch 3
	//         n3 follows n4 in epoch 3
	//         n4 leads in epoch 3
}

// An election, message by message: a process forwards the token of a higher candidate, and
// drops that of a lower one. Tokens show their epoch, their candidate and the number of times
// they were sent.
func Example_election() {
	c := newCluster(viewOf(3))
	c.StartAll()
	c.Run(6 * T)
	fmt.Println(c.Transcript())

	// Output:
	//   0.0T n1 starts with epoch 0
	//   0.0T n1 sends election epoch=1 eligible=true id=n1 hops=1 to n2
	//   0.0T n2 starts with epoch 0
	//   0.0T n2 sends election epoch=1 eligible=true id=n2 hops=1 to n3
	//   0.0T n3 starts with epoch 0
	//   0.0T n3 sends election epoch=1 eligible=true id=n3 hops=1 to n1
	//   1.0T n2 receives election epoch=1 eligible=true id=n1 hops=1 from n1
	//   1.0T n3 receives election epoch=1 eligible=true id=n2 hops=1 from n2
	//   1.0T n1 receives election epoch=1 eligible=true id=n3 hops=1 from n3
	//   1.0T n1 sends election epoch=1 eligible=true id=n3 hops=2 to n2
	//   2.0T n2 receives election epoch=1 eligible=true id=n3 hops=2 from n1
	//   2.0T n2 sends election epoch=1 eligible=true id=n3 hops=3 to n3
	//   3.0T n3 receives election epoch=1 eligible=true id=n3 hops=3 from n2
	//   3.0T n3 sends elected epoch=1 id=n3 hops=1 to n1
	//   3.0T n3 leads in epoch 1
	//   4.0T n1 receives elected epoch=1 id=n3 hops=1 from n3
	//   4.0T n1 sends elected epoch=1 id=n3 hops=2 to n2
	//   4.0T n1 follows n3 in epoch 1
	//   5.0T n2 receives elected epoch=1 id=n3 hops=2 from n1
	//   5.0T n2 sends elected epoch=1 id=n3 hops=3 to n3
	//   5.0T n2 follows n3 in epoch 1
	//   6.0T n3 receives elected epoch=1 id=n3 hops=3 from n2
}
