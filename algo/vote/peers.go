package vote

import (
	"slices"

	"github.com/elect-go/elect/algo"
)

// peers is a set, kept in the order of IDs so that equal sets look equal and are
// walked in one order.
type peers []algo.NodeID

func (s peers) has(id algo.NodeID) bool {
	_, found := slices.BinarySearchFunc(s, id, algo.NodeID.Compare)
	return found
}

func (s *peers) add(id algo.NodeID) {
	if i, found := slices.BinarySearchFunc(*s, id, algo.NodeID.Compare); !found {
		*s = slices.Insert(*s, i, id)
	}
}

// remove reports whether id was in the set.
func (s *peers) remove(id algo.NodeID) bool {
	i, found := slices.BinarySearchFunc(*s, id, algo.NodeID.Compare)
	if found {
		*s = slices.Delete(*s, i, i+1)
	}
	return found
}

// keep leaves in s only whom o has too.
func (s *peers) keep(o peers) {
	*s = slices.DeleteFunc(*s, func(id algo.NodeID) bool { return !o.has(id) })
}
