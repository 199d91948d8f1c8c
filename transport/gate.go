package transport

import (
	"bufio"
	"net"
	"os"
)

// gate is a connection during its handshake. The handshake has a turn while it computes, and none while it reads or
// writes.
type gate struct {
	net.Conn
	acquire  func() bool // waits for a turn
	release  func()      // ends the turn
	hasTurn  bool
	done     bool          // the handshake has ended
	buffered *bufio.Reader // lets bytes that came together share one turn; nil once it is empty after the handshake
}

const gateBuffer = 4096 // bytes

func newGate(nc net.Conn, take func() bool, give func()) *gate {
	g := &gate{Conn: nc, acquire: take, release: give}
	g.buffered = bufio.NewReaderSize(waitingReader{g}, gateBuffer)
	return g
}

func (g *gate) acquireTurn() error {
	if g.hasTurn = g.acquire(); !g.hasTurn {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// finish ends the handshake. From then on, g adds no cost to its connection.
func (g *gate) finish() {
	g.releaseTurn()
	g.done = true
}

func (g *gate) releaseTurn() {
	if g.hasTurn {
		g.hasTurn = false
		g.release()
	}
}

// withoutTurn calls f, which waits for the peer, without a turn.
func (g *gate) withoutTurn(f func([]byte) (int, error), b []byte) (int, error) {
	g.releaseTurn()
	n, err := f(b)
	if err == nil {
		err = g.acquireTurn()
	}
	return n, err
}

func (g *gate) Read(b []byte) (int, error) {
	if g.done && (g.buffered == nil || g.buffered.Buffered() == 0) {
		g.buffered = nil
		return g.Conn.Read(b)
	}
	return g.buffered.Read(b)
}

func (g *gate) Write(b []byte) (int, error) {
	if g.done {
		return g.Conn.Write(b)
	}
	return g.withoutTurn(g.Conn.Write, b)
}

// CloseWrite calls CloseWrite of the connection, if it has one.
func (g *gate) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// waitingReader reads below the buffer of a gate.
type waitingReader struct{ *gate }

func (r waitingReader) Read(b []byte) (int, error) { return r.gate.withoutTurn(r.gate.Conn.Read, b) }
