package algo

import "slices"

// Set is a set of nodes, kept in the order of their IDs, so that equal sets look equal and
// are walked in one order, which a map is not. The zero value is empty. A copy shares what
// is in it: an [Algorithm] clones its sets with slices.Clone.
type Set []NodeID

// Has reports whether id is in the set.
func (s Set) Has(id NodeID) bool {
	_, found := slices.BinarySearchFunc(s, id, NodeID.Compare)
	return found
}

// Add reports whether id is new to the set.
func (s *Set) Add(id NodeID) bool {
	i, found := slices.BinarySearchFunc(*s, id, NodeID.Compare)
	if !found {
		*s = slices.Insert(*s, i, id)
	}
	return !found
}

// Remove reports whether id was in the set.
func (s *Set) Remove(id NodeID) bool {
	i, found := slices.BinarySearchFunc(*s, id, NodeID.Compare)
	if found {
		*s = slices.Delete(*s, i, i+1)
	}
	return found
}

// Keep leaves in s only whom o has too.
func (s *Set) Keep(o Set) {
	*s = slices.DeleteFunc(*s, func(id NodeID) bool { return !o.Has(id) })
}
