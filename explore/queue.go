package explore

import (
	"encoding/binary"
	"slices"
)

// queue holds the states with unknown successors, the oldest first: about 50 bytes for a
// state of three nodes. It omits the fingerprint, which visited holds.
type queue struct {
	nodes  int
	count  int
	chunks [][]uint32 // the first is read, the last is written
	readAt int        // position in the first chunk
}

const chunkBytes = 1 << 18

// push appends a state with its index in visited.
func (q *queue) push(s *state, index uint32) {
	size, last := 4+q.nodes+len(s.network), len(q.chunks)-1
	if last < 0 || cap(q.chunks[last])-len(q.chunks[last]) < size {
		q.chunks = append(q.chunks, make([]uint32, 0, max(chunkBytes/4, size)))
		last++
	}
	c := append(q.chunks[last], index, binary.LittleEndian.Uint32(s.spent[:]), s.history)
	c = append(append(c, s.nodes[:q.nodes]...), uint32(len(s.network)))
	q.chunks[last] = append(c, s.network...)
	q.count++
}

// pop removes the oldest state and returns its index. It does not set the fingerprint.
func (q *queue) pop(s *state) (index uint32) {
	if q.readAt == len(q.chunks[0]) {
		q.chunks, q.readAt = slices.Delete(q.chunks, 0, 1), 0
	}
	c := q.chunks[0][q.readAt:]
	index, s.history = c[0], c[2]
	binary.LittleEndian.PutUint32(s.spent[:], c[1])
	network := 4 + copy(s.nodes[:q.nodes], c[3:])
	end := network + int(c[network-1])
	s.network = append(s.network[:0], c[network:end]...)
	q.readAt += end
	q.count--
	return index
}

// bytes returns the memory that the queue uses.
func (q *queue) bytes() int64 { return int64(len(q.chunks)) * chunkBytes }
