package transport

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func readAll(src io.Reader, limit int) (frames [][]byte, reader *frameReader, err error) {
	f := &frameReader{src: src, limit: limit}
	for {
		frame, ok, err := f.next()
		if err != nil {
			return frames, f, err
		}
		if ok {
			frames = append(frames, slices.Clone(frame))
			continue
		}
		if err := f.fill(); err != nil {
			return frames, f, err
		}
	}
}

func TestFrameReader(t *testing.T) {
	long := bytes.Repeat([]byte{0x91}, 3000)
	for _, test := range []struct {
		name  string
		in    []byte
		want  [][]byte
		fails bool // with a protocol error
	}{
		{name: "nothing"},
		{name: "one", in: appendFrame(nil, []byte{0x90}), want: [][]byte{{0x90}}},
		{name: "two together", in: appendFrame(appendFrame(nil, []byte{0x90}), long), want: [][]byte{{0x90}, long}},
		{name: "as large as can be", in: appendFrame(nil, make([]byte, 4096)), want: [][]byte{make([]byte, 4096)}},
		{name: "one byte too large", in: appendFrame(nil, make([]byte, 4097)), fails: true},
		{name: "length 0", in: []byte{0, 0, 0, 0}, fails: true},
		{name: "length ffffffff", in: []byte{255, 255, 255, 255}, fails: true},
		{name: "truncated length", in: []byte{0, 0}},
		{name: "truncated frame", in: []byte{0, 0, 0, 9, 0x91}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, chunk := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader,
			} {
				frames, f, err := readAll(chunk(bytes.NewReader(test.in)), 4096)
				require.Equal(t, test.want, frames)
				if test.fails {
					require.Equal(t, Protocol, Cause(err))
					require.LessOrEqual(t, len(f.buf), max(initialBuffer, 2*len(test.in)), "buffer")
				} else {
					require.ErrorIs(t, err, io.EOF)
				}
			}
		})
	}
}

func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	_, f, err := readAll(bytes.NewReader([]byte{0, 0, 255, 255, 0x91}), 64<<10)
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, f.buf, initialBuffer)
}

func TestCloseFrame(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
	}{
		{"polite", "", errClosedByPeer.Error()},
		{"reason", "wrong cluster", "transport: rejected by the peer: wrong cluster"},
		{"cut at a rune", strings.Repeat("é", 300), "transport: rejected by the peer: " + strings.Repeat("é", 256)},
		{"orders to a terminal", "\x1b[2Jgone\n", "transport: rejected by the peer: \ufffd[2Jgone\ufffd"},
		{"not text", "\xff", "transport: rejected by the peer: \ufffd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			frame := appendControl(nil, controlClose, test.text)
			require.Equal(t, len(frame)-headerLen, int(binary.BigEndian.Uint32(frame)))
			require.LessOrEqual(t, len(frame), headerLen+1+maxReason)
			require.EqualError(t, parseClose(frame[headerLen:]), test.want)
		})
	}
	require.Equal(t, Protocol, Cause(parseClose(append([]byte{0}, strings.Repeat("x", 513)...))))
	require.Equal(t, Protocol, Cause(parseClose([]byte{0, 0xff})))
}

// FuzzReadFrame compares the reader, which gets its input in pieces, with a plain split of the whole input.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add(appendFrame(appendFrame(nil, []byte{0x91, 1}), []byte{0xdc, 0, 1, 2}), uint8(3))
	f.Add(appendControl(nil, controlClose, "why"), uint8(200))
	f.Add([]byte{255, 255, 255, 255, 1}, uint8(2))
	f.Add([]byte{0, 0, 0, 0}, uint8(4))
	f.Add([]byte{0, 0, 3, 0, 1, 2, 3}, uint8(5))
	f.Add([]byte{0xdd, 255, 255, 255, 255}, uint8(5))
	f.Add(appendFrame(nil, make([]byte, 1000)), uint8(255))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		const limit = 1000
		var want [][]byte
		bad := false
		for rest := in; len(rest) >= headerLen; {
			n := binary.BigEndian.Uint32(rest)
			if bad = n == 0 || n > limit; bad || len(rest) < headerLen+int(n) {
				break
			}
			want = append(want, slices.Clone(rest[headerLen:headerLen+n]))
			rest = rest[headerLen+n:]
		}
		frames, reader, err := readAll(&pieces{in, max(int(chunk), 1)}, limit)
		require.Equal(t, want, frames)
		if bad {
			require.Equal(t, Protocol, Cause(err))
		} else {
			require.ErrorIs(t, err, io.EOF)
		}
		require.LessOrEqual(t, len(reader.buf), max(initialBuffer, min(2*len(in), headerLen+limit)))
		for _, frame := range frames {
			if frame[0] == controlClose {
				switch err := parseClose(frame); Cause(err) {
				case RejectedByPeer:
					require.True(t, utf8.ValidString(closeErrorOf(err).err.Error()))
				case Protocol:
				default:
					require.ErrorIs(t, err, errClosedByPeer)
				}
			}
		}
	})
}

// pieces is a reader that returns at most size bytes at a time.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// A closing connection does not answer a ping. Otherwise the peer would keep it, and close the connection that this
// side keeps.
func TestClosingConnectionSendsNoPong(t *testing.T) {
	c := &conn{t: new(Transport), pongDue: true}
	batch, _, last := c.collect()
	require.Equal(t, appendControl(nil, controlPong, ""), batch)
	require.False(t, last)
	c.pongDue, c.finishing = true, true
	batch, _, last = c.collect()
	require.Equal(t, appendControl(nil, controlClose, ""), batch)
	require.True(t, last)
}

// A session with two connections sends its queued frames only over the active connection.
func TestQueueHasOneOwner(t *testing.T) {
	s := &session{peer: new(peer)}
	s.peer.session = s
	first, second := &conn{t: new(Transport), session: s}, &conn{t: new(Transport), session: s}
	first.hasSession.Store(true)
	second.hasSession.Store(true)
	s.active = second
	require.True(t, s.peer.queue.push(body("x"), &limits{queueFrames: 10, queueBytes: 1000}))
	_, frames, _ := first.collect()
	require.Zero(t, frames)
	batch, frames, _ := second.collect()
	require.Equal(t, 1, frames)
	require.Equal(t, appendFrame(nil, body("x")), batch)
}
