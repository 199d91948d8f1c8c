package explore

import (
	"encoding/binary"
	"slices"
)

// queue holds the states whose successors are not known yet, the oldest first: about 50 bytes
// for a state of three nodes. What a fingerprint covers is not kept twice.
type queue struct {
	nodes  int
	count  int
	chunks [][]uint32 // the first is read, the last is written
	at     int        // in the first
}

const chunkBytes = 1 << 18

// push appends a state, which is the index-th visited.
func (q *queue) push(s *state, index uint32) {
	size, last := 4+q.nodes+len(s.network), len(q.chunks)-1
	if last < 0 || cap(q.chunks[last])-len(q.chunks[last]) < size {
		q.chunks = append(q.chunks, make([]uint32, 0, max(chunkBytes/4, size)))
		last++
	}
	c := append(q.chunks[last], index, binary.LittleEndian.Uint32(s.spent[:]), s.history)
	c = append(append(c, s.locals[:q.nodes]...), uint32(len(s.network)))
	q.chunks[last] = append(c, s.network...)
	q.count++
}

// pop takes out the oldest state, all but its fingerprint, and returns its index.
func (q *queue) pop(s *state) (index uint32) {
	if q.at == len(q.chunks[0]) {
		q.chunks, q.at = slices.Delete(q.chunks, 0, 1), 0
	}
	c := q.chunks[0][q.at:]
	index, s.history = c[0], c[2]
	binary.LittleEndian.PutUint32(s.spent[:], c[1])
	network := 4 + copy(s.locals[:q.nodes], c[3:])
	end := network + int(c[network-1])
	s.network = append(s.network[:0], c[network:end]...)
	q.at += end
	q.count--
	return index
}

// bytes is what it holds in memory.
func (q *queue) bytes() int64 { return int64(len(q.chunks)) * chunkBytes }
