// Package lab is where algorithms are tested: a cluster of [algo.Machine]s on a
// network of virtual time, one process on its own, random walks through all that can
// go wrong, and algorithms from which a rule is taken out. It knows none of the
// algorithms. Only tests import it.
package lab

import (
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
)

// T is the one-way message time of the tests.
const T = 10 * time.Millisecond

// Timing is what the algorithms are told of a network with that T.
var Timing = algo.Timing{RoundTrip: 2 * T, Heartbeat: T}

// ID returns the ID of node i. Nodes are counted from 1 and, with equal priorities,
// ordered by number.
func ID(i int) algo.NodeID { return algo.NodeID{0: byte(i >> 8), 1: byte(i), 6: 0x40, 8: 0x80} }

// Number is the inverse of ID.
func Number(id algo.NodeID) int { return int(id[0])<<8 | int(id[1]) }

// Name returns how traces call a node: n1 is node 1.
func Name(id algo.NodeID) string {
	if id.IsZero() {
		return "nobody"
	}
	return fmt.Sprintf("n%d", Number(id))
}

// Members returns the nodes 1 to count, all eligible and of priority 0.
func Members(count int) []algo.Member {
	var all []algo.Member
	for i := 1; i <= count; i++ {
		all = append(all, algo.Member{ID: ID(i), Name: Name(ID(i)), Eligible: true})
	}
	return all
}

// View returns the view number 1 of Members.
func View(count int) algo.View { return algo.NewView(1, count, Members(count)...) }

// Leadership is that of node i in epoch e.
func Leadership(e algo.Epoch, i int) algo.Leader { return algo.Leader{Epoch: e, ID: ID(i)} }
