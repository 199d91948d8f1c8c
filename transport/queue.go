package transport

import "sync"

// keepBuffer is the largest buffer that a writer keeps for the next batch, so that
// a burst does not hold its memory for ever.
const keepBuffer = 64 << 10

// queue holds the frames for one peer, ready to be written, in one buffer: those
// that wait together leave together, and a push costs no allocation. It outlives a
// connection that is superseded; only its owner takes from it.
type queue struct {
	max *limits

	mu     sync.Mutex
	owner  *conn
	buf    []byte
	frames int
}

// push appends a copy of frame for the owner, if there is one, or reports that there is no room.
func (q *queue) push(frame []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.frames >= q.max.queueFrames || len(q.buf)+headerLen+len(frame) > q.max.queueBytes {
		return false
	}
	q.buf = appendFrame(q.buf, frame)
	q.frames++
	if q.owner != nil {
		q.owner.signal()
	}
	return true
}

// give makes c the owner.
func (q *queue) give(c *conn) {
	q.mu.Lock()
	q.owner = c
	q.mu.Unlock()
	c.signal()
}

// release ends the ownership of c, if it still has it.
func (q *queue) release(c *conn) {
	q.mu.Lock()
	if q.owner == c {
		q.owner = nil
	}
	q.mu.Unlock()
}

// take hands all frames to their owner, in exchange for a buffer to collect the
// next ones in.
func (q *queue) take(c *conn, spare []byte) (batch []byte, frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.owner != c || q.frames == 0 {
		return nil, 0
	}
	if cap(spare) > keepBuffer {
		spare = nil
	}
	batch, frames = q.buf, q.frames
	q.buf, q.frames = spare[:0], 0
	return batch, frames
}

// drop empties the queue and returns how many frames it held.
func (q *queue) drop() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.frames
	q.buf, q.frames = nil, 0
	return n
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.frames
}
