package explore

import (
	"encoding/binary"
	"slices"
)

// queue holds the states whose successors are not known yet, the oldest first. They are
// packed, a number into as many bytes as it needs: about 40 bytes for a state of three
// nodes. What a fingerprint covers is not kept twice.
type queue struct {
	nodes  int
	count  int
	chunks [][]byte // the first is read, the last is written
	at     int      // in the first
}

const chunkBytes = 1 << 18

func newQueue(nodes int) *queue { return &queue{nodes: nodes} }

// push appends a state, which is the index-th visited.
func (q *queue) push(s *state, index uint32) {
	most := binary.MaxVarintLen32*(3+q.nodes+len(s.network)) + len(s.spent)
	last := len(q.chunks) - 1
	if last < 0 || cap(q.chunks[last])-len(q.chunks[last]) < most {
		q.chunks = append(q.chunks, make([]byte, 0, max(chunkBytes, most)))
		last++
	}
	b := binary.AppendUvarint(q.chunks[last], uint64(index))
	b = append(b, s.spent[:]...)
	b = binary.AppendUvarint(b, uint64(s.history))
	for _, number := range s.locals[:q.nodes] {
		b = binary.AppendUvarint(b, uint64(number))
	}
	b = binary.AppendUvarint(b, uint64(len(s.network)))
	before := uint32(0)
	for _, e := range s.network { // sorted
		b = binary.AppendUvarint(b, uint64(e-before))
		before = e
	}
	q.chunks[last] = b
	q.count++
}

// pop takes out the oldest state, all but its fingerprint, and returns its index.
func (q *queue) pop(s *state) uint32 {
	if q.at == len(q.chunks[0]) {
		q.chunks = slices.Delete(q.chunks, 0, 1)
		q.at = 0
	}
	b := q.chunks[0][q.at:]
	begin := len(b)
	next := func() uint32 {
		n, size := binary.Uvarint(b)
		b = b[size:]
		return uint32(n)
	}
	index := next()
	b = b[copy(s.spent[:], b):]
	s.history = next()
	for i := range q.nodes {
		s.locals[i] = next()
	}
	s.network = s.network[:0]
	before := uint32(0)
	for range next() {
		before += next()
		s.network = append(s.network, before)
	}
	q.at += begin - len(b)
	q.count--
	return index
}

// bytes is what it holds in memory.
func (q *queue) bytes() int64 { return int64(len(q.chunks)) * chunkBytes }
