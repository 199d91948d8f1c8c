package transport

// maxKeptBuffer limits the buffer that a writer keeps for the next batch, so that a burst does not hold its memory
// forever.
const maxKeptBuffer = 64 << 10

// queue holds the frames for one peer in one buffer, in the form in which they are written. Frames that wait together
// are written together, and a push allocates nothing. A queue survives the replacement of a connection. Transport.mu
// guards it.
type queue struct {
	buf    []byte
	frames int
}

// push appends a copy of frame, and returns false if the queue is full.
func (q *queue) push(frame []byte, max *limits) bool {
	if q.frames >= max.queueFrames || len(q.buf)+headerLen+len(frame) > max.queueBytes {
		return false
	}
	q.buf = appendFrame(q.buf, frame)
	q.frames++
	return true
}

// takeAll removes and returns all frames. The queue reuses spare for the next ones.
func (q *queue) takeAll(spare []byte) (batch []byte, frames int) {
	if q.frames == 0 {
		return nil, 0
	}
	if cap(spare) > maxKeptBuffer {
		spare = nil
	}
	batch, frames = q.buf, q.frames
	q.buf, q.frames = spare[:0], 0
	return batch, frames
}

// drop empties the queue and returns the number of its frames.
func (q *queue) drop() int {
	_, frames := q.takeAll(nil)
	return frames
}
