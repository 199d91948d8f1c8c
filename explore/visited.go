package explore

import (
	"slices"

	"github.com/elect-go/elect/internal/algosim"
)

// visited holds the visited states, and for each the way in which it was first reached. That is a
// shortest way, because the search goes breadth first. It needs about 70 bytes per state.
type visited struct {
	index  map[algosim.Fingerprint]uint32 // in states
	states []visitedState
}

// visitedState is a state at its first visit.
type visitedState struct {
	fingerprint algosim.Fingerprint
	from        uint32 // previous state
	by          uint16 // number of the action in the previous state
}

const noParent = ^uint32(0)

func newVisited() visited { return visited{index: map[algosim.Fingerprint]uint32{}} }

// add returns the index of a state, and whether it is new.
func (v *visited) add(f algosim.Fingerprint, from uint32, by int) (index uint32, fresh bool) {
	if index, seen := v.index[f]; seen {
		return index, false
	}
	index = uint32(len(v.states))
	v.index[f] = index
	v.states = append(v.states, visitedState{f, from, uint16(by)})
	return index, true
}

// path returns the actions from the first state to the given one.
func (v *visited) path(state uint32) []uint16 {
	var path []uint16
	for s := v.states[state]; s.from != noParent; s = v.states[s.from] {
		path = append(path, s.by)
	}
	slices.Reverse(path)
	return path
}
