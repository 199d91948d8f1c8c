package fence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("FENCE_TEST_GATE"); path != "" {
		writeUntilKilled(path)
		return
	}
	testkit.CollectLess()
	m.Run()
}

func open(t testing.TB, path string) *Gate {
	t.Helper()
	g, err := Open(context.Background(), path)
	require.NoError(t, err)
	return g
}

// fresh returns a gate that holds token 7, and the path of its file.
func fresh(t testing.TB) (*Gate, string) {
	path := filepath.Join(t.TempDir(), "gate")
	g := open(t, path)
	require.NoError(t, g.Write(context.Background(), nr(7), nothing))
	return g, path
}

func highest(t testing.TB, g *Gate) Token {
	t.Helper()
	token, err := g.Highest(context.Background())
	require.NoError(t, err)
	return token
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func TestReopenedGateKeepsToken(t *testing.T) {
	_, path := fresh(t)
	g := open(t, path)
	require.Equal(t, nr(7), highest(t, g))
	require.ErrorIs(t, g.Write(context.Background(), nr(6), never(t)), ErrStale)
	require.Equal(t, "fence 1 save 2 token 7 cluster 00000000-0000-0000-0000-000000000001 sum ", string(content(t, path)[:72]))
}

// A crash may cut the writes since the last sync at any byte. After the crash, the gate holds the last accepted token
// or the next one, even if the disk had lost one half of the file before.
func TestCrashAtAnyByteKeepsOneSave(t *testing.T) {
	g, path := fresh(t)
	durable := content(t, path)
	scratch, err := os.Create(filepath.Join(t.TempDir(), "cut"))
	require.NoError(t, err)
	defer scratch.Close()
	accepted, next := uint64(7), uint64(7)
	cuts := 0
	look := func() {
		now := content(t, path)
		for at := range now {
			if at > 0 && now[at-1] == durable[at-1] && at < len(now)-1 {
				continue // the same as the previous cut
			}
			for _, parts := range [][2][]byte{{now, durable}, {durable, now}} {
				cuts++
				_, err := scratch.WriteAt(append(bytes.Clone(parts[0][:at]), parts[1][at:]...), 0)
				require.NoError(t, err)
				_, err = scratch.Seek(0, 0)
				require.NoError(t, err)
				after := NewMemory()
				_, _, err = after.read(scratch)
				require.NoError(t, err)
				require.Contains(t, []uint64{accepted, next}, after.last.Number)
			}
		}
	}
	g.flush = func(*os.File) error {
		look()
		durable = content(t, path)
		return nil
	}
	for next = range uint64(30) {
		if next < accepted {
			continue
		}
		if lost := int(next % 3); lost < 2 {
			durable[lost*half]++
			require.NoError(t, os.WriteFile(path, durable, 0o600))
		}
		require.NoError(t, g.Write(context.Background(), nr(next), func() error {
			accepted = next
			look()
			return nil
		}))
	}
	require.Greater(t, cuts, 23*2*2)
}

// crash is an interrupted write, optionally followed by a crash of the machine.
type crash struct {
	token   uint64
	sync    int    // number of the sync that fails, from 1; 0: no failure
	machine bool   // the machine crashes
	first   [2]int // number of bytes of each half that reached the disk since the last sync
}

// crashes interrupts writes one after another, without a repair in between. It returns an error if the gate accepts a
// token below an accepted one.
func crashes(t testing.TB, path string, all []crash) error {
	g := open(t, path)
	durable, accepted := content(t, path), uint64(0)
	for _, c := range all {
		synced := 0
		g.flush = func(*os.File) error {
			if synced++; synced == c.sync {
				return errCrash
			}
			durable = content(t, path)
			return nil
		}
		low := false
		err := g.Write(context.Background(), nr(c.token), func() error {
			low = c.token < accepted
			accepted = c.token
			return nil
		})
		if low || err != nil && !errors.Is(err, errCrash) && !errors.Is(err, ErrStale) {
			return fmt.Errorf("%+v: token below an accepted one: %t, error %w", c, low, err)
		}
		if c.machine {
			image := bytes.Clone(durable)
			for i, first := range c.first {
				copy(image[i*half:], content(t, path)[i*half:][:first])
			}
			require.NoError(t, os.WriteFile(path, image, 0o600))
			durable = image
			g = NewMemory()
			g.path = path
		}
	}
	return nil
}

var errCrash = errors.New("a crash, as of now")

func TestGateSurvivesRepeatedCrashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate")
	rapid.Check(t, func(r *rapid.T) {
		require.NoError(t, os.RemoveAll(path))
		err := crashes(t, path, rapid.SliceOfN(rapid.Custom(func(r *rapid.T) crash {
			some := func(half string) int { return rapid.IntRange(0, 120).Draw(r, half) }
			return crash{
				rapid.Uint64Range(1, 9).Draw(r, "token"), rapid.IntRange(0, 4).Draw(r, "sync"),
				rapid.Bool().Draw(r, "machine"), [2]int{some("first"), some("second")},
			}
		}), 1, 6).Draw(r, "crashes"))
		if err != nil {
			r.Fatal(err)
		}
	})
}

// In these sequences, which a random search found, the half that is cut is the only one on the disk.
func TestGateSurvivesKnownCrashes(t *testing.T) {
	cut := [2]int{14, 14} // after the number of the save
	for _, all := range [][]crash{
		{{token: 1}, {token: 2, sync: 2, machine: true, first: cut}, {token: 2, sync: 1, machine: true, first: cut}, {token: 3}},
		{{token: 1}, {token: 2, sync: 3}, {token: 2, sync: 1, machine: true, first: cut}, {token: 3}},
		{{token: 1, sync: 2, machine: true, first: cut}, {token: 1, sync: 1}, {token: 1, sync: 1, machine: true, first: cut}, {token: 1}},
		{{token: 1, sync: 4, machine: true, first: cut}, {token: 1, sync: 1}, {token: 1, sync: 1, machine: true, first: cut}, {token: 1}},
	} {
		require.NoError(t, crashes(t, filepath.Join(t.TempDir(), "gate"), all), "%+v", all)
	}
}

func TestFailedSyncEndsSaves(t *testing.T) {
	for failing := range 4 {
		g, path := fresh(t)
		synced := 0
		g.flush = func(*os.File) error {
			if synced++; synced == failing+1 {
				return errCrash
			}
			return nil
		}
		require.ErrorIs(t, g.Write(context.Background(), nr(8), never(t)), errCrash)
		synced = 10
		require.NoError(t, g.Write(context.Background(), nr(8), nothing))
		if failing < 3 {
			require.Equal(t, 14, synced, "the state of the file is unknown")
		}
		require.Equal(t, nr(8), highest(t, open(t, path)))
	}
}

// If one half of the file is damaged, the other half is enough.
func TestEitherHalfIsEnough(t *testing.T) {
	for _, at := range []int{0, 6, 13, 21, 100, half - 1, half, half + 6, half + 13, half + 21, half + 100, 2*half - 1} {
		g, path := fresh(t)
		damaged := content(t, path)
		damaged[at] ^= 0x10
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		require.Equal(t, nr(7), highest(t, open(t, path)))
		require.ErrorIs(t, g.Write(context.Background(), nr(6), never(t)), ErrStale)
		require.Equal(t, content(t, path)[:half], content(t, path)[half:], "it is mended")
	}
}

func TestGateRejectsForeignFile(t *testing.T) {
	_, path := fresh(t)
	whole := content(t, path)
	other := bytes.ReplaceAll(whole, []byte("token 7"), []byte("token 6"))
	newer := bytes.ReplaceAll(whole, []byte("fence 1"), []byte("fence 2"))
	for name, foreign := range map[string][]byte{
		"empty": nil, "cut": whole[:50], "foreign": []byte("id = 7\n"), "zeros": make([]byte, 2*half), "large": make([]byte, 1<<20),
		"changed": other, "newer": newer,
	} {
		path := filepath.Join(t.TempDir(), "gate")
		require.NoError(t, os.WriteFile(path, foreign, 0o600))
		_, err := Open(context.Background(), path)
		require.ErrorIs(t, err, ErrDamaged, name)
		require.ErrorContains(t, err, "fence: "+path+": not what a gate has written", name)
		require.Equal(t, string(foreign), string(content(t, path)), "%s: it stays as it is", name)
	}
	_, err := Open(context.Background(), t.TempDir())
	require.Error(t, err, "a folder")
}

// An open gate detects that its file was removed or replaced by an older one.
func TestGateNoticesReplacedFile(t *testing.T) {
	g, path := fresh(t)
	older := content(t, path)
	require.NoError(t, g.Write(context.Background(), nr(8), nothing))
	require.NoError(t, os.WriteFile(path, older, 0o600))
	require.ErrorIs(t, g.Write(context.Background(), nr(9), never(t)), ErrDamaged)
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, g.Write(context.Background(), nr(9), never(t)), fs.ErrNotExist)
	require.NoFileExists(t, path)
}

func TestWaitingWriterEndsWithContext(t *testing.T) {
	file, path := fresh(t)
	for _, test := range []struct {
		name          string
		first, second *Gate
	}{{"the same", file, file}, {"another over the file", file, open(t, path)}} {
		t.Run(test.name, func(t *testing.T) {
			why := errors.New("deposed")
			ctx, cancel := context.WithCancelCause(context.Background())
			require.NoError(t, test.first.Write(context.Background(), nr(7), func() error {
				time.AfterFunc(time.Millisecond, func() { cancel(why) })
				require.Equal(t, why, test.second.Write(ctx, nr(7), never(t)))
				return nil
			}))
			require.Equal(t, why, test.second.Write(ctx, nr(7), never(t)), "it is over")
		})
	}
}

// writeUntilKilled writes lines into a file next to the gate, as a leader that sometimes takes over
// and then writes twice with its token, even if that is stale.
func writeUntilKilled(path string) {
	g, err := Open(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := 0; ; i++ {
		now, err := g.Highest(context.Background())
		if err == nil && i%3 == 0 {
			now.Number++
		}
		if now.Cluster.IsZero() {
			now = nr(1)
		}
		for range 2 {
			err = errors.Join(err, g.Write(context.Background(), now, func() error { return appendLine(path+".log", now.Number) }))
		}
		if err != nil && !errors.Is(err, ErrStale) {
			fmt.Println(err)
			return
		}
		fmt.Println(i)
	}
}

func appendLine(path string, number uint64) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, number)
	return errors.Join(err, file.Close())
}

func TestProcessesShareFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate")
	var children []*exec.Cmd
	var said []*strings.Builder
	ready := make(chan bool)
	for range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "FENCE_TEST_GATE="+path)
		out, enough := &strings.Builder{}, sync.OnceFunc(func() { ready <- true })
		child.Stdout = writer(func(b []byte) (int, error) {
			out.Write(b)
			if strings.Contains(out.String(), "\n20\n") || !strings.HasPrefix(out.String(), "0\n") {
				enough()
			}
			return len(b), nil
		})
		require.NoError(t, child.Start())
		children, said = append(children, child), append(said, out)
	}
	for range children {
		<-ready
	}
	for i, child := range children {
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
		require.Regexp(t, `^(\d+\n)+$`, said[i].String())
	}
	before, changes := uint64(0), 0
	for line := range strings.Lines(string(content(t, path+".log"))) {
		var number uint64
		_, err := fmt.Sscan(line, &number)
		require.NoError(t, err)
		require.GreaterOrEqual(t, number, before)
		if number > before {
			changes++
		}
		before = number
	}
	require.Greater(t, changes, 5)
	require.GreaterOrEqual(t, highest(t, open(t, path)).Number, before)
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
