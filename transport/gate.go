package transport

import (
	"bufio"
	"net"
	"os"
)

// gate is a connection during its handshake. The handshake has a turn while it computes, and none while it reads or writes.
type gate struct {
	net.Conn
	take func() bool   // waits for a turn
	give func()        // ends it
	held bool          // it has a turn
	done bool          // the handshake has ended
	read *bufio.Reader // bytes that came together need one turn; nil: none is left
}

const gateBuffer = 4096 // bytes

func newGate(nc net.Conn, take func() bool, give func()) *gate {
	g := &gate{Conn: nc, take: take, give: give}
	g.read = bufio.NewReaderSize(waitingReader{g}, gateBuffer)
	return g
}

// enter takes the first turn.
func (g *gate) enter() error {
	if g.held = g.take(); !g.held {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// leave ends the handshake. Afterwards g is as fast as its connection.
func (g *gate) leave() {
	g.pause()
	g.done = true
}

func (g *gate) pause() {
	if g.held {
		g.held = false
		g.give()
	}
}

// wait runs f, which waits for the peer, without a turn.
func (g *gate) wait(f func([]byte) (int, error), b []byte) (int, error) {
	g.pause()
	n, err := f(b)
	if err == nil {
		err = g.enter()
	}
	return n, err
}

func (g *gate) Read(b []byte) (int, error) {
	if g.done && (g.read == nil || g.read.Buffered() == 0) {
		g.read = nil
		return g.Conn.Read(b)
	}
	return g.read.Read(b)
}

func (g *gate) Write(b []byte) (int, error) {
	if g.done {
		return g.Conn.Write(b)
	}
	return g.wait(g.Conn.Write, b)
}

// CloseWrite is that of the connection, if it has one.
func (g *gate) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// waitingReader is the reader below the buffer of a gate.
type waitingReader struct{ *gate }

func (r waitingReader) Read(b []byte) (int, error) { return r.gate.wait(r.gate.Conn.Read, b) }
