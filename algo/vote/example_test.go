package vote

import (
	"fmt"

	"github.com/elect-go/elect/internal/host"
)

// As it is published the algorithm elects two leaders in one term. n1 and n2 both claim;
// n2 votes for n1, and n1 leads with {n1, n2}. n3 has missed all that, and claims too;
// what n1 sends is slow now, so that n2 and n3 elect without it: n2 votes again, for
// itself, and leads with {n2, n3}. With numbered rounds, and one vote in each, n2 has no
// second vote.
func Example_twoLeadersInOneTerm() {
	for _, as := range []struct {
		name    string
		options Options
	}{{"as published", asPublished()}, {"by default", Defaults(timing)}} {
		c := newCluster(as.options, viewOf(3)) // T is 10 ms, and a window 20 ms
		c.Tracing = true
		twoInATerm(c)
		fmt.Printf("%s, after %v:\n", as.name, c.Now)
		for i := 1; i <= 3; i++ {
			switch l := c.Leader(i); {
			case l.ID == host.ID(i):
				fmt.Printf("\tn%d leads in term %d\n", i, l.Epoch)
			case l.Vacant():
				fmt.Printf("\tn%d knows no leader\n", i)
			default:
				fmt.Printf("\tn%d follows %s in term %d\n", i, host.Name(l.ID), l.Epoch)
			}
		}
	}

	// Output:
	// as published, after 65ms:
	// 	n1 leads in term 1
	// 	n2 leads in term 1
	// 	n3 knows no leader
	// by default, after 65ms:
	// 	n1 leads in term 1
	// 	n2 knows no leader
	// 	n3 knows no leader
}
