package transport

// keepBuffer is the largest buffer that a writer keeps for the next batch, so that
// a burst does not hold its memory for ever.
const keepBuffer = 64 << 10

// queue holds the frames for one peer, ready to be written, in one buffer: those
// that wait together leave together, and a push costs no allocation. It outlives a
// connection that is superseded. Transport.mu guards it.
type queue struct {
	buf    []byte
	frames int
}

// push appends a copy of frame, or reports that there is no room.
func (q *queue) push(frame []byte, max *limits) bool {
	if q.frames >= max.queueFrames || len(q.buf)+headerLen+len(frame) > max.queueBytes {
		return false
	}
	q.buf = appendFrame(q.buf, frame)
	q.frames++
	return true
}

// take hands all frames over, in exchange for a buffer to collect the next ones in.
func (q *queue) take(spare []byte) (batch []byte, frames int) {
	if q.frames == 0 {
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
	_, frames := q.take(nil)
	return frames
}
