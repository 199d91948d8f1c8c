package algosim

import (
	"encoding/binary"
	"strconv"

	"github.com/elect-go/elect/algo"
)

// ID returns the ID of node n, counted from 1. The IDs are in the order of the numbers, and have
// the form of a version 4 UUID.
func ID(n int) algo.NodeID {
	id := algo.NodeID{6: 0x40, 8: 0x80}
	binary.BigEndian.PutUint32(id[12:], uint32(n))
	return id
}

// Number returns the number of an ID, or 0 if ID did not return it.
func Number(id algo.NodeID) int {
	n := int(binary.BigEndian.Uint32(id[12:]))
	if n == 0 || ID(n) != id {
		return 0
	}
	return n
}

// Name returns the name of a node: n1 for the first, none for the zero ID.
func Name(id algo.NodeID) string {
	switch n := Number(id); {
	case n > 0:
		return "n" + strconv.Itoa(n)
	case id.IsZero():
		return "none"
	}
	return id.String()
}

// Members returns nodes 1 to count, all eligible and with priority 0.
func Members(count int) []algo.Member {
	all := make([]algo.Member, count)
	for i := range all {
		all[i] = algo.Member{ID: ID(i + 1), Name: Name(ID(i + 1)), Eligible: true}
	}
	return all
}

// View returns a view of Members with version 1.
func View(count int) algo.View { return algo.NewView(1, Members(count)...) }

// Leadership returns node n as leader in epoch e.
func Leadership(e algo.Epoch, n int) algo.Leader { return algo.Leader{Epoch: e, ID: ID(n)} }
