package vote

import (
	"fmt"

	"github.com/elect-go/elect/internal/algosim"
)

// Two servers cannot lead in one term, as they can in the source (see the example
// of package algo/textbook/vote). n1 and n2 both claim; n2 votes for n1, and n1 leads with
// {n1, n2}. n3 has received none of these messages and claims too; messages from n1 are slow now. With numbered
// rounds, and one vote in each, n2 has no second vote for a round that it voted in, and follows n1.
func Example_oneLeaderPerTerm() {
	c := newCluster(Defaults(timing), viewOf(3)) // T is 10 ms, and a window 20 ms
	c.Tracing = true
	twoInATerm(c)
	fmt.Printf("after %v:\n", c.Now)
	for i := 1; i <= 3; i++ {
		switch l := c.Leader(i); {
		case l.ID == algosim.ID(i):
			fmt.Printf("\tn%d leads in term %d\n", i, l.Epoch)
		case l.IsVacant():
			fmt.Printf("\tn%d knows no leader\n", i)
		default:
			fmt.Printf("\tn%d follows %s in term %d\n", i, algosim.Name(l.ID), l.Epoch)
		}
	}

	// Output:
	// after 65ms:
	// 	n1 leads in term 1
	// 	n2 follows n1 in term 1
	// 	n3 follows n1 in term 1
}
