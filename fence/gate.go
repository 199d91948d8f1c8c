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

// Gate is a gate in memory, or over a file. Its methods may be called at the same time, but
// not by what writes through it: who comes waits until nobody writes, or its context ends.
type Gate struct {
	path  string        // of the file; empty: in memory
	turn  chan struct{} // holds one while somebody is in
	last  record        // that was read or saved
	flush func(*os.File) error
}

// New returns a gate that lasts as long as the process, as what it guards must.
func New() *Gate { return &Gate{turn: make(chan struct{}, 1), flush: disk.Flush} }

// Open returns the gate over a file, and makes that, with mode 0600, if it does not exist. Any
// number of processes of one machine may have it open. While it is, nobody makes a file that has
// vanished again. Its errors are as those of Write.
func Open(ctx context.Context, path string) (*Gate, error) {
	path, err := filepath.Abs(path) // the process may change its folder
	if err != nil {
		return nil, err
	}
	g := New()
	g.path = path
	empty := record{save: 1}.encode()
	if err := disk.Create(path, append(empty, empty...)); err != nil {
		return nil, explain(g.path, err)
	}
	if _, err := g.Held(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// Write lets the leader with token t in: it calls write, and returns what that does. Before, the
// token is remembered, over a crash too where there is a file; it is so whatever becomes of
// write. Nobody else is let in until write has returned.
//
// If write was not called the error is a *RefusedError, ErrNoToken, context.Cause(ctx), or what
// is wrong with the file: ErrDamaged, or an error of package os.
func (g *Gate) Write(ctx context.Context, t Token, write func() error) error {
	return g.enter(ctx, func(held Token) (Token, error) { return t, held.admit(t) }, write)
}

// Held returns the highest token that was let in: zero if none was.
func (g *Gate) Held(ctx context.Context) (held Token, err error) {
	err = g.enter(ctx, func(now Token) (Token, error) { held = now; return now, nil }, func() error { return nil })
	return held, err
}

// Adopt is an operator's step after the cluster was founded anew. A gate that holds from, to the
// number, holds to from then on, and lets that cluster's tokens in from there; a number of 0 is
// all. If it holds another token, as somebody was let in meanwhile, nothing changes, and the
// error is ErrMoved.
func (g *Gate) Adopt(ctx context.Context, from, to Token) error {
	return g.enter(ctx, func(held Token) (Token, error) { return to, held.adopt(from, to) }, func() error { return nil })
}

// enter waits for its turn, has next say what the gate is to hold, and when it does calls then.
func (g *Gate) enter(ctx context.Context, next func(held Token) (Token, error), then func() error) error {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
	}
	file, err := g.lock(ctx)
	if err != nil {
		return err
	}
	defer file.Close() // of nil, too; it lets the next process in
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

// lock opens the file, if there is one, for nobody else.
func (g *Gate) lock(ctx context.Context) (file *os.File, err error) {
	for ctx.Err() == nil {
		if g.path != "" {
			file, err = disk.OpenExclusive(g.path) // it waits, itself
		}
		if !errors.Is(err, disk.ErrLocked) {
			return file, explain(g.path, err)
		}
	}
	return nil, context.Cause(ctx)
}

// record is what each half of a file holds, as a line of text.
type record struct {
	save uint64 // its number; 0: the half is not whole
	Token
}

// half is how many bytes that is: a page, so that to write one endangers no byte of the other.
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

// save makes r the last record. The bytes of a half change only while the disk has the other one whole,
// and that is not older than what was let in. So first what was found is written, for it may be in one half
// alone, and not on the disk: after a crash, or a sync that failed.
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
