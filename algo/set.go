package algo

import "slices"

// Set is a set of nodes, sorted by ID. Unlike a map, equal sets have equal elements in the same
// order. The zero value is empty. A copy shares its elements: an [Algorithm] clones its sets with
// slices.Clone.
type Set []NodeID

// Has reports whether s contains id.
func (s Set) Has(id NodeID) bool {
	_, found := slices.BinarySearchFunc(s, id, NodeID.Compare)
	return found
}

// Add adds id and reports whether it was new.
func (s *Set) Add(id NodeID) bool {
	i, found := slices.BinarySearchFunc(*s, id, NodeID.Compare)
	if !found {
		*s = slices.Insert(*s, i, id)
	}
	return !found
}

// Remove removes id and reports whether s contained it.
func (s *Set) Remove(id NodeID) bool {
	i, found := slices.BinarySearchFunc(*s, id, NodeID.Compare)
	if found {
		*s = slices.Delete(*s, i, i+1)
	}
	return found
}

// Retain removes all elements that o does not contain.
func (s *Set) Retain(o Set) {
	*s = slices.DeleteFunc(*s, func(id NodeID) bool { return !o.Has(id) })
}
