package explore

import (
	"slices"

	"github.com/elect-go/elect/internal/algosim"
)

// visited holds the states seen, and of each how it was first reached, which is a shortest way
// since the search goes breadth first. About 70 bytes a state.
type visited struct {
	index  map[algosim.Fingerprint]uint32 // in sights
	sights []sight
}

// sight is a state seen for the first time.
type sight struct {
	print algosim.Fingerprint
	from  uint32 // the state it was reached from
	by    uint16 // which of that state's actions
}

const noParent = ^uint32(0)

func newVisited() visited { return visited{index: map[algosim.Fingerprint]uint32{}} }

// add returns the index of a state, and whether it is new.
func (v *visited) add(f algosim.Fingerprint, from uint32, by int) (index uint32, fresh bool) {
	if index, seen := v.index[f]; seen {
		return index, false
	}
	index = uint32(len(v.sights))
	v.index[f] = index
	v.sights = append(v.sights, sight{f, from, uint16(by)})
	return index, true
}

// path returns the actions that lead from the first state to one.
func (v *visited) path(state uint32) []uint16 {
	var path []uint16
	for s := v.sights[state]; s.from != noParent; s = v.sights[s.from] {
		path = append(path, s.by)
	}
	slices.Reverse(path)
	return path
}
