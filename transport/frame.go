package transport

import (
	"encoding/binary"
	"io"
	"unicode/utf8"

	"github.com/elect-go/elect/internal/hostile"
)

// headerLen is the size of the length before each frame.
const headerLen = 4

// The first bytes of the transport's own frames: positive fixints in msgpack, so
// that no frame of the caller, an array, begins like one.
const (
	controlClose  = 0x00
	controlProbe  = 0x01
	controlAnswer = 0x02
)

// maxReason is the longest text of a close frame, in bytes.
const maxReason = 512

// firstBuffer is what a connection costs before its peer has sent anything worth
// more; readBuffer is what one costs that has said hello.
const (
	firstBuffer = 512
	readBuffer  = 4096
)

// isArray reports whether b begins a msgpack array, as each frame of the caller does.
func isArray(b byte) bool { return b >= 0x90 && b <= 0x9f || b == 0xdc || b == 0xdd }

// appendFrame appends payload with its length.
func appendFrame(to, payload []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(len(payload)))
	return append(to, payload...)
}

// appendControl appends a control frame with its text, which is cut to fit.
func appendControl(to []byte, code byte, text string) []byte {
	return appendFrame(to, append([]byte{code}, hostile.Cut(text, maxReason)...))
}

// parseClose tells the meaning of a close frame as the error that ends the connection. Another frame is an error too.
func parseClose(frame []byte) error {
	text := frame[1:]
	switch {
	case frame[0] != controlClose:
		return noProtocol("frame of %d bytes begins with %02x", len(frame), frame[0])
	case len(text) > maxReason:
		return noProtocol("close reason of %d bytes, at most %d", len(text), maxReason)
	case !utf8.Valid(text):
		return noProtocol("close reason is not UTF-8")
	case len(text) == 0:
		return errClosedByPeer
	}
	return refused(hostile.Plain(string(text)))
}

// frameReader cuts a stream into frames. Its buffer is reused and grows only when
// bytes that have come fill it: a length that is announced costs nothing.
type frameReader struct {
	src      io.Reader
	limit    int // the largest frame
	buf      []byte
	from, to int // what was read and not yet taken
}

// next takes the next frame out of what was read. It is valid until fill. Without a
// whole frame ok is false.
func (f *frameReader) next() (frame []byte, ok bool, err error) {
	have := f.to - f.from
	if have < headerLen {
		return nil, false, nil
	}
	n := binary.BigEndian.Uint32(f.buf[f.from:])
	if n == 0 {
		return nil, false, noProtocol("frame of length 0")
	}
	if uint64(n) > uint64(f.limit) {
		return nil, false, noProtocol("frame of %d bytes, at most %d", n, f.limit)
	}
	if have-headerLen < int(n) {
		return nil, false, nil
	}
	start := f.from + headerLen
	f.from = start + int(n)
	return f.buf[start:f.from:f.from], true, nil
}

// partial reports whether a frame has begun that is not whole.
func (f *frameReader) partial() bool { return f.to > f.from }

// fill reads once.
func (f *frameReader) fill() error {
	if f.from > 0 && (f.from == f.to || f.to == len(f.buf)) {
		f.to = copy(f.buf, f.buf[f.from:f.to])
		f.from = 0
	}
	if f.to == len(f.buf) {
		f.reserve(min(max(2*len(f.buf), firstBuffer), headerLen+f.limit))
	}
	n, err := f.src.Read(f.buf[f.to:])
	f.to += n
	if n > 0 {
		return nil // an error that came with the bytes comes again
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// reserve makes the buffer at least size bytes.
func (f *frameReader) reserve(size int) {
	if size > len(f.buf) {
		buf := make([]byte, size)
		f.to = copy(buf, f.buf[f.from:f.to])
		f.buf, f.from = buf, 0
	}
}
