package fence

import (
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"

	"github.com/elect-go/elect/internal/disk"
)

// Gate is a gate in memory or in a file. Its methods may be called at the same time, but not by a write function: a
// caller waits until the current write has ended, or its context ends.
type Gate struct {
	path  string        // of the file; empty: in memory
	turn  chan struct{} // holds one value during a write
	last  record        // that was read or saved
	flush func(*os.File) error
}

// NewMemory returns a gate that lasts as long as the process, like the resource that it guards.
func NewMemory() *Gate { return &Gate{turn: make(chan struct{}, 1), flush: disk.Flush} }

// Open returns the gate in a file, and creates the file with mode 0600 if it does not exist. Any number of processes of
// one machine may open it. While it is open, a file that has been deleted is not created again. Its errors are those of
// Write.
func Open(ctx context.Context, path string) (*Gate, error) {
	path, err := filepath.Abs(path) // the process may change its folder
	if err != nil {
		return nil, err
	}
	g := NewMemory()
	g.path = path
	empty := record{save: 1}.encode()
	if err := disk.Create(path, append(empty, empty...)); err != nil {
		return nil, explain(g.path, err)
	}
	if _, err := g.Highest(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// Write accepts the leader with token t: it calls write, and returns its result. Before the call the token is
// remembered, in a file durably, whatever the result of write. No other write is accepted until write has returned.
//
// If write was not called, the error is a *RejectedError, ErrNoToken, context.Cause(ctx), or an error of the file:
// ErrDamaged, or one of package os.
func (g *Gate) Write(ctx context.Context, t Token, write func() error) error {
	return g.withLock(ctx, func(held Token) (Token, error) { return t, held.admit(t) }, write)
}

// Highest returns the highest accepted token; zero if there is none.
func (g *Gate) Highest(ctx context.Context) (held Token, err error) {
	err = g.withLock(ctx, func(now Token) (Token, error) { held = now; return now, nil }, func() error { return nil })
	return held, err
}

// Adopt is an operation of an operator, after the cluster was created again. If the gate holds the token from, it holds
// to afterwards, and accepts tokens of that cluster from to on; a number of 0 stands for all. If it holds another
// token, because a write was accepted meanwhile, nothing changes and the error is ErrAdoptMismatch.
func (g *Gate) Adopt(ctx context.Context, from, to Token) error {
	return g.withLock(ctx, func(held Token) (Token, error) { return to, held.adopt(from, to) }, func() error { return nil })
}

// withLock waits for its turn, asks next for the token that the gate is to hold, saves it, and calls then.
func (g *Gate) withLock(ctx context.Context, next func(held Token) (Token, error), then func() error) error {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
	}
	file, err := g.lock(ctx)
	if err != nil {
		return err
	}
	defer file.Close() // also of nil; the next process can open the file
	newest, both, err := g.read(file)
	if err != nil {
		return explain(g.path, err)
	}
	t, err := next(g.last.Token)
	if err == nil && (t != g.last.Token || !both) {
		err = explain(g.path, g.save(file, record{g.last.save + 1, t}, newest))
	}
	if err != nil {
		return err
	}
	return then()
}

// lock opens the file, if there is one, exclusively.
func (g *Gate) lock(ctx context.Context) (file *os.File, err error) {
	for ctx.Err() == nil {
		if g.path != "" {
			file, err = disk.OpenExclusive(g.path) // it waits for the lock
		}
		if !errors.Is(err, disk.ErrLocked) {
			return file, explain(g.path, err)
		}
	}
	return nil, context.Cause(ctx)
}

// record is the content of one half of a file: a line of text.
type record struct {
	save uint64 // number of the save; 0: the half is damaged
	Token
}

// half is the size of one half in bytes. It is a page, so a write to one half cannot damage the other.
const half = 4096

var sums = crc64.MakeTable(crc64.ECMA)

func (r record) encode() []byte {
	line := fmt.Appendf(nil, "fence 1 save %d token %d cluster %s", r.save, r.Number, r.Cluster)
	line = fmt.Appendf(line, " sum %016x\n", crc64.Checksum(line, sums))
	return append(line, make([]byte, half-len(line))...)
}

// decode is the inverse of encode, to the last byte.
func decode(text string) (r record) {
	var cluster string
	fmt.Sscanf(text, "fence 1 save %d token %d cluster %s", &r.save, &r.Number, &cluster)
	if err := r.Cluster.UnmarshalText([]byte(cluster)); err != nil || text != string(r.encode()) {
		return record{}
	}
	return r
}

// read takes the last record from the file, if there is one, and says in which half that is, and
// whether in both.
func (g *Gate) read(file *os.File) (newest int, both bool, err error) {
	if file == nil {
		return 0, true, nil
	}
	content := make([]byte, 2*half)
	if _, err := file.ReadAt(content, 0); err != nil && err != io.EOF {
		return 0, false, err
	}
	halves := [2]record{decode(string(content[:half])), decode(string(content[half:]))}
	if halves[1].save > halves[0].save {
		newest = 1
	}
	if last := halves[newest].save; last < max(g.last.save, 1) {
		return 0, false, fmt.Errorf("%w: it has save %d, want %d or a later one", ErrDamaged, last, max(g.last.save, 1))
	}
	g.last = halves[newest]
	return newest, halves[0] == halves[1], nil
}

// save makes r the last record. The bytes of a half change only while the disk has the other half complete, which is
// not older than the last accepted token. So the record that was found is written first: after a crash, or a failed
// sync, it may be in one half only, and not on the disk.
func (g *Gate) save(file *os.File, r record, newest int) error {
	for i, r := range []record{g.last, g.last, r, r} {
		if file == nil {
			break
		}
		if _, err := file.WriteAt(r.encode(), int64((newest+i)%2)*half); err != nil {
			return err
		}
		if err := g.flush(file); err != nil {
			return err
		}
	}
	g.last = r
	return nil
}
