package explore

// visited holds the states seen: of each its fingerprint, and how it was first
// reached, which is a shortest way since the search goes breadth first. About 30
// bytes a state.
type visited struct {
	slots []uint32 // open addressing; index+1 of a state, 0 is free
	seen  []fingerprint
	from  []uint32 // the state it was reached from
	by    []uint16 // which of that state's actions
}

const noParent = ^uint32(0)

func newVisited() *visited { return &visited{slots: make([]uint32, 1<<12)} }

// add returns the index of a state, and whether it is new.
func (v *visited) add(f fingerprint, from uint32, by int) (uint32, bool) {
	if len(v.seen)*4 >= len(v.slots)*3 {
		v.grow()
	}
	slot := v.find(f)
	if v.slots[slot] != 0 {
		return v.slots[slot] - 1, false
	}
	v.seen = append(v.seen, f)
	v.from = append(v.from, from)
	v.by = append(v.by, uint16(by))
	v.slots[slot] = uint32(len(v.seen))
	return uint32(len(v.seen) - 1), true
}

// find returns the slot where f is, or is to be.
func (v *visited) find(f fingerprint) int {
	mask := len(v.slots) - 1
	slot := int(f.a) & mask
	for v.slots[slot] != 0 && v.seen[v.slots[slot]-1] != f {
		slot = (slot + 1) & mask
	}
	return slot
}

func (v *visited) grow() {
	v.slots = make([]uint32, 2*len(v.slots))
	for i, f := range v.seen {
		v.slots[v.find(f)] = uint32(i + 1)
	}
}

// path returns the actions that lead from the first state to one.
func (v *visited) path(state uint32) []uint16 {
	var path []uint16
	for ; v.from[state] != noParent; state = v.from[state] {
		path = append(path, v.by[state])
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// bytes is what it holds in memory.
func (v *visited) bytes() int64 {
	return int64(cap(v.slots))*4 + int64(cap(v.seen))*16 + int64(cap(v.from))*4 + int64(cap(v.by))*2
}
