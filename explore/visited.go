package explore

import (
	"slices"

	"github.com/elect-go/elect/internal/host"
)

// visited holds the states seen: of each its fingerprint, and how it was first
// reached, which is a shortest way since the search goes breadth first. About 30
// bytes a state.
type visited struct {
	// slots are where a state is found, by open addressing: index+1 in the bits that the
	// table needs, and in those left above them as much of the fingerprint as fits, so that
	// of the others on the way hardly one has to be looked at. 0 is free.
	slots []uint32
	pages [][]sight
	count int
}

// sight is a state seen for the first time. They lie in pages, so that none is ever
// copied to a larger place.
type sight struct {
	print host.Fingerprint
	from  uint32 // the state it was reached from
	by    uint16 // which of that state's actions
}

const (
	noParent  = ^uint32(0)
	pageBits  = 14
	pageSize  = 1 << pageBits
	sightSize = 24 // bytes
)

func newVisited() *visited { return &visited{slots: make([]uint32, 1<<12)} }

func (v *visited) at(state uint32) *sight { return &v.pages[state>>pageBits][state&(pageSize-1)] }

func (v *visited) print(state uint32) host.Fingerprint { return v.at(state).print }

// add returns the index of a state, and whether it is new.
func (v *visited) add(f host.Fingerprint, from uint32, by int) (uint32, bool) {
	if v.count*4 >= len(v.slots)*3 {
		v.grow()
	}
	slot := v.find(f)
	if taken := v.slots[slot]; taken != 0 {
		return taken&v.mask() - 1, false
	}
	if v.count == len(v.pages)*pageSize {
		v.pages = append(v.pages, make([]sight, 0, pageSize))
	}
	last := &v.pages[len(v.pages)-1]
	*last = append(*last, sight{f, from, uint16(by)})
	v.slots[slot] = v.tag(f) | uint32(v.count+1)
	v.count++
	return uint32(v.count - 1), true
}

// mask are the bits of a slot that hold index+1. It fits: some slots are free.
func (v *visited) mask() uint32 { return uint32(len(v.slots) - 1) }

func (v *visited) tag(f host.Fingerprint) uint32 { return uint32(f.B>>32) &^ v.mask() }

// find returns the slot where f is, or is to be.
func (v *visited) find(f host.Fingerprint) uint32 {
	mask, tag := v.mask(), v.tag(f)
	slot := uint32(f.A) & mask
	for {
		s := v.slots[slot]
		if s == 0 || s&^mask == tag && v.print(s&mask-1) == f {
			return slot
		}
		slot = (slot + 1) & mask
	}
}

func (v *visited) grow() {
	v.slots = make([]uint32, 2*len(v.slots))
	for i := range uint32(v.count) {
		f := v.print(i)
		v.slots[v.find(f)] = v.tag(f) | (i + 1)
	}
}

// path returns the actions that lead from the first state to one.
func (v *visited) path(state uint32) []uint16 {
	var path []uint16
	for s := v.at(state); s.from != noParent; s = v.at(s.from) {
		path = append(path, s.by)
	}
	slices.Reverse(path)
	return path
}

// bytes is what it holds in memory.
func (v *visited) bytes() int64 {
	return int64(len(v.slots))*4 + int64(len(v.pages))*pageSize*sightSize
}
