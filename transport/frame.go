package transport

import (
	"encoding/binary"
	"io"
	"unicode/utf8"

	"github.com/elect-go/elect/internal/untrusted"
)

// headerLen is the size of the length before each frame.
const headerLen = 4

// The first bytes of the transport's own frames. They are positive fixints in msgpack, so no frame of the caller,
// which is an array, begins with one.
const (
	controlClose = 0x00
	controlPing  = 0x01
	controlPong  = 0x02
)

// maxReason is the maximum length of the reason in a close frame, in bytes.
const maxReason = 512

// Buffer sizes of a connection before and after its hello. A peer that has sent nothing useful must cost little
// memory.
const (
	initialBuffer = 512
	readBuffer    = 4096
)

// isArray reports whether b is the first byte of a msgpack array. Each frame of the caller begins with one.
func isArray(b byte) bool { return b >= 0x90 && b <= 0x9f || b == 0xdc || b == 0xdd }

// appendFrame appends payload, preceded by its length.
func appendFrame(to, payload []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(len(payload)))
	return append(to, payload...)
}

// appendControl appends a control frame with text, which it truncates to maxReason bytes.
func appendControl(to []byte, code byte, text string) []byte {
	return appendFrame(to, append([]byte{code}, untrusted.Truncate(text, maxReason)...))
}

// parseClose returns the error that a close frame stands for, or a protocol error if frame is not a valid close
// frame.
func parseClose(frame []byte) error {
	text := frame[1:]
	switch {
	case frame[0] != controlClose:
		return protocolError("frame of %d bytes begins with %02x", len(frame), frame[0])
	case len(text) > maxReason:
		return protocolError("close reason of %d bytes, at most %d", len(text), maxReason)
	case !utf8.Valid(text):
		return protocolError("close reason is not UTF-8")
	case len(text) == 0:
		return errClosedByPeer
	}
	return rejectedByPeer(untrusted.Printable(string(text)))
}

// frameReader splits a stream into frames. Its buffer is reused. It grows only when received bytes fill it, so an
// announced length costs nothing.
type frameReader struct {
	src      io.Reader
	limit    int // largest frame in bytes
	buf      []byte
	from, to int // range of buf that was read and not yet returned
}

// next returns the next frame that has been read completely. The frame is valid until fill. If there is none, ok is
// false.
func (f *frameReader) next() (frame []byte, ok bool, err error) {
	have := f.to - f.from
	if have < headerLen {
		return nil, false, nil
	}
	n := binary.BigEndian.Uint32(f.buf[f.from:])
	if n == 0 {
		return nil, false, protocolError("frame of length 0")
	}
	if uint64(n) > uint64(f.limit) {
		return nil, false, protocolError("frame of %d bytes, at most %d", n, f.limit)
	}
	if have-headerLen < int(n) {
		return nil, false, nil
	}
	start := f.from + headerLen
	f.from = start + int(n)
	return f.buf[start:f.from:f.from], true, nil
}

// partial reports whether a part of a frame has been read.
func (f *frameReader) partial() bool { return f.to > f.from }

// fill reads once.
func (f *frameReader) fill() error {
	if f.from > 0 && (f.from == f.to || f.to == len(f.buf)) {
		f.to = copy(f.buf, f.buf[f.from:f.to])
		f.from = 0
	}
	if f.to == len(f.buf) {
		f.reserve(min(max(2*len(f.buf), initialBuffer), headerLen+f.limit))
	}
	n, err := f.src.Read(f.buf[f.to:])
	f.to += n
	if n > 0 {
		return nil // the next read returns an error that came with these bytes
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// reserve grows the buffer to at least size bytes.
func (f *frameReader) reserve(size int) {
	if size > len(f.buf) {
		buf := make([]byte, size)
		f.to = copy(buf, f.buf[f.from:f.to])
		f.buf, f.from = buf, 0
	}
}
