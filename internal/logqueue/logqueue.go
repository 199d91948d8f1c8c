// Package logqueue keeps an unread log from blocking the program that writes it. A [Queue] stands
// between a logger and its output, for example a pipe. One goroutine writes the lines to the output:
//
//	queue := logqueue.New(os.Stderr, report)
//	defer queue.Close()
//	log := slog.New(slog.NewTextHandler(queue, nil))
//
// # Guarantees
//
// Write never waits for the output, and the queue holds at most [Limit] bytes. The queue keeps the
// order of the lines and counts each line that it drops. A line of its own reports the count at the
// gap, as soon as the output has taken the lines before it. Close returns within [CloseTimeout].
// Wait loses no line of the queue.
//
// # Non-guarantees
//
// Lines in the queue are lost if the process panics or is killed. Close loses the lines, and the
// count, that the output does not take in time.
//
// # Cost
//
// The queue copies each line, and has one goroutine.
package logqueue

import (
	"bytes"
	"io"
	"sync"
	"time"
)

const (
	// Limit is the size in bytes of the lines that a queue holds at most.
	Limit = 1 << 20
	// CloseTimeout is the longest time that Close waits for the output.
	CloseTimeout = time.Second
)

// Queue is a writer that does not block. Each call of Write is one line.
type Queue struct {
	output  io.Writer
	report  func(dropped int) []byte
	written chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	changed chan struct{} // one token: there is something to write; closed by Close
	closed  bool
	lines   [][]byte
	size    int // of lines, in bytes
	dropped int // lines that no report has counted yet
}

// New returns a queue in front of output. The argument report renders the line that says how many
// lines were dropped.
func New(output io.Writer, report func(dropped int) []byte) *Queue {
	q := &Queue{output: output, report: report, written: make(chan struct{}), changed: make(chan struct{}, 1)}
	go q.run()
	return q
}

// Write queues or drops a copy of line. After the first dropped line, Write drops all lines until
// the output has taken the queue. So an unread log has one gap with one count.
func (q *Queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return len(line), nil
	}
	if q.dropped > 0 || q.size+len(line) > Limit {
		q.dropped++
	} else {
		q.lines = append(q.lines, bytes.Clone(line))
		q.size += len(line)
	}
	select {
	case q.changed <- struct{}{}:
	default:
	}
	return len(line), nil
}

// Close writes the queue, for at most CloseTimeout. Later lines are dropped. A second call waits
// like the first.
func (q *Queue) Close() {
	q.close()
	select {
	case <-q.written:
	case <-time.After(CloseTimeout):
	}
}

// Wait writes the queue like Close, and waits for the output as long as that takes. It is for an
// output that is known to be read.
func (q *Queue) Wait() {
	q.close()
	<-q.written
}

func (q *Queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.changed)
	}
}

// run writes the lines until the queue is closed. Only run calls the output.
func (q *Queue) run() {
	defer close(q.written)
	for range q.changed {
		q.writeLines()
	}
}

// writeLines writes what the queue holds. After a failed report it returns, and the next line
// causes another attempt.
func (q *Queue) writeLines() {
	for {
		line, dropped := q.next()
		if line == nil && dropped == 0 {
			return
		}
		if dropped > 0 {
			line = q.report(dropped)
		}
		_, err := q.output.Write(line)
		if err != nil {
			q.drop(max(dropped, 1))
		}
		if err != nil && dropped > 0 {
			return
		}
	}
}

// next removes the first line. If there is none, it removes the count of dropped lines, and Write
// queues lines again: they stand behind the report.
func (q *Queue) next() (line []byte, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines) == 0 {
		dropped, q.dropped = q.dropped, 0
		return nil, dropped
	}
	line, q.lines = q.lines[0], q.lines[1:]
	q.size -= len(line)
	return line, 0
}

// drop counts lines that the output did not take.
func (q *Queue) drop(lines int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped += lines
}
