package algosim

import (
	"encoding/binary"
	"strconv"

	"github.com/elect-go/elect/algo"
)

// ID returns the ID of node n. Nodes are counted from 1, and their IDs are ordered by
// number and of the form of a version 4 UUID.
func ID(n int) algo.NodeID {
	id := algo.NodeID{6: 0x40, 8: 0x80}
	binary.BigEndian.PutUint32(id[12:], uint32(n))
	return id
}

// Number is the inverse of ID; 0 for the ID of something else.
func Number(id algo.NodeID) int {
	n := int(binary.BigEndian.Uint32(id[12:]))
	if n == 0 || ID(n) != id {
		return 0
	}
	return n
}

// Name is what a node is called: n1 for the first one.
func Name(id algo.NodeID) string {
	switch n := Number(id); {
	case n > 0:
		return "n" + strconv.Itoa(n)
	case id.IsZero():
		return "nobody"
	}
	return id.String()
}

// Members returns the nodes 1 to count, all eligible and of priority 0.
func Members(count int) []algo.Member {
	all := make([]algo.Member, count)
	for i := range all {
		all[i] = algo.Member{ID: ID(i + 1), Name: Name(ID(i + 1)), Eligible: true}
	}
	return all
}

// View returns the view number 1 of Members.
func View(count int) algo.View { return algo.NewView(1, Members(count)...) }

// Leadership is that of node n in epoch e.
func Leadership(e algo.Epoch, n int) algo.Leader { return algo.Leader{Epoch: e, ID: ID(n)} }
