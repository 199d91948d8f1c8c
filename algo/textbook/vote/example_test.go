package vote_test

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/textbook/vote"
	"github.com/elect-go/elect/internal/algosim"
)

// Two leaders in one term. n1 and n2 both claim; n2 votes for n1, and n1 leads with {n1, n2}.
// n3 has received none of these messages and claims too. Messages from n1 are slow now, so n2 and n3 elect
// without it: n2 votes again, for itself, and leads with {n2, n3}.
func Example_twoLeadersInOneTerm() {
	spec, err := vote.Factory(algosim.Timing, nil) // T is 10 ms, and RTT 20 ms
	if err != nil {
		fmt.Println(err)
		return
	}
	c := algosim.New(spec, algosim.View(3))
	slow := false
	c.Delay = func(from, to int, m algo.Message) (time.Duration, bool) {
		if slow && from == 1 {
			return 10 * algosim.T, true
		}
		return algosim.T, to != 3 || m.Kind() != "elect" || from == 2 && c.Now >= 3*algosim.T
	}
	c.StartAll()
	c.Campaign(1)
	c.Campaign(2)
	c.At(2*algosim.T+1, func() { slow = true })
	c.At(3*algosim.T+1, func() { c.Campaign(3) })
	c.Run(6*algosim.T + algosim.T/2)
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
	// 	n2 leads in term 1
	// 	n3 knows no leader
}
