package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/store"
)

const (
	sector = 512 // what a disk writes whole or not at all
	page   = 4096
	metas  = 2 * page // the two pages that say where a state begins
)

// history saves n states, one after the other, and returns them with the bytes
// of the file after each.
func history(t testing.TB, n, size int) (states []state, images [][]byte) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range n {
		vote, view := fmt.Sprint("vote ", i), strings.Repeat(fmt.Sprint("view ", i, " "), size/7)
		save(t, s, record("vote", vote), record("view", view))
		states = append(states, state{"vote": []byte(vote), "view": []byte(view)})
		image, err := os.ReadFile(filepath.Join(dir, store.FileName))
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
	}
	return states, images
}

// folder is a data folder whose file is rewritten for each case.
type folder struct{ dir string }

func newFolder(t *testing.T) folder { return folder{t.TempDir()} }

func (f folder) load(t *testing.T, image []byte) (state, error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, store.FileName), image, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(f.dir, store.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Load()
}

// outcome says in a word what loading an image gave.
func outcome(t *testing.T, f folder, image []byte, last, previous state) string {
	t.Helper()
	got, err := f.load(t, image)
	switch {
	case errors.Is(err, store.ErrDamaged):
		return "damaged"
	case err != nil:
		return "the error " + err.Error()
	case reflect.DeepEqual(got, last):
		return "last"
	case reflect.DeepEqual(got, previous):
		return "previous"
	default:
		return fmt.Sprintf("the state %.100q", got)
	}
}

// sizes of a state: in the root page, on a page of its own, over several pages.
var sizes = map[string]int{"within a page": 100, "one page": 2000, "several pages": 9000}

// TestTornSave mixes the file before and after a save at every sector, in both
// orders, whether or not a crash can leave that.
func TestTornSave(t *testing.T) {
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			states, images := history(t, 6, size)
			last, previous := states[5], states[4]
			before, after := images[4], images[5]
			f := newFolder(t)
			seen := map[string]int{}
			for k := 0; k <= len(after); k += sector {
				if !bytes.Equal(before[max(0, k-sector):k], after[max(0, k-sector):k]) || k == 0 || k == len(after) {
					for _, image := range [][]byte{join(after[:k], before[k:]), join(before[:k], after[k:])} {
						got := outcome(t, f, image, last, previous)
						seen[got]++
						if got != "last" && got != "previous" && got != "damaged" {
							t.Errorf("torn at %d: %s", k, got)
						}
					}
				}
			}
			if seen["last"] == 0 || seen["previous"] == 0 || seen["damaged"] == 0 {
				t.Errorf("outcomes %v, want each of last, previous and damaged", seen)
			}
		})
	}
}

func join(a, b []byte) []byte { return append(bytes.Clone(a), b...) }

// TestACrashInASaveLosesNothing builds what a crash can leave: the pages of
// records are synced before the page that says where they begin.
func TestACrashInASaveLosesNothing(t *testing.T) {
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			states, images := history(t, 6, size)
			before, after := images[4], images[5]
			var changed []int // sectors
			for k := metas; k < len(after); k += sector {
				if !bytes.Equal(before[k:k+sector], after[k:k+sector]) {
					changed = append(changed, k)
				}
			}
			f := newFolder(t)
			random := rand.New(rand.NewPCG(1, uint64(size)))
			for range 100 {
				image := bytes.Clone(before)
				for _, k := range changed {
					if random.IntN(2) == 0 {
						copy(image[k:k+sector], after[k:k+sector])
					}
				}
				if got := outcome(t, f, image, states[5], states[4]); got != "previous" {
					t.Fatalf("with some sectors of the records written: %s, want previous", got)
				}
			}
			for k := 0; k <= metas; k += sector {
				image := join(before[:metas], after[metas:])
				copy(image[:k], after[:k])
				if got := outcome(t, f, image, states[5], states[4]); got != "previous" && got != "last" {
					t.Fatalf("with the records and %d bytes of the metas written: %s, want previous or last", k, got)
				}
			}
		})
	}
}

// TestALostWriteIsSeen: the disk kept the page that says where the records begin
// but not the records, so that a whole page of an older state stands there.
func TestALostWriteIsSeen(t *testing.T) {
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			states, images := history(t, 12, size)
			f := newFolder(t)
			for i := 6; i < len(images); i++ {
				image := join(images[i][:metas], images[i-1][metas:])
				if got := outcome(t, f, image, states[i], states[i-1]); got != "damaged" {
					t.Errorf("save %d: %s, want damaged", i, got)
				}
			}
		})
	}
}

// TestABadMetaIsNotReplacedByAnOlderOne: bbolt alone would go back by one save.
func TestABadMetaIsNotReplacedByAnOlderOne(t *testing.T) {
	states, images := history(t, 6, 100)
	f := newFolder(t)
	for _, at := range []int{20, page + 20} {
		image := bytes.Clone(images[5])
		image[at] ^= 1
		if got := outcome(t, f, image, states[5], states[4]); got != "damaged" {
			t.Errorf("with byte %d changed: %s, want damaged", at, got)
		}
	}
}

func TestATruncatedFileIsDamaged(t *testing.T) {
	for name, size := range map[string]int{"as made": 100, "grown": 400 << 10} {
		t.Run(name, func(t *testing.T) {
			states, images := history(t, 3, size)
			whole := images[2]
			lengths := []int{0, 1, 79, 80, 511, 513, page - 1, page + 1, metas + 1, 5*page - 1, len(whole) / 3}
			for n := page; n < len(whole); n += page {
				lengths = append(lengths, n)
			}
			f := newFolder(t)
			for _, n := range lengths {
				got := outcome(t, f, whole[:n], states[2], nil)
				// What was grown has pages at its end that nothing was written to.
				if got != "damaged" && !(got == "last" && name == "grown" && len(bytes.Trim(whole[n:], "\x00")) == 0) {
					t.Errorf("cut to %d of %d bytes: %s, want damaged", n, len(whole), got)
				}
			}
		})
	}
}

func TestGarbageIsDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 512<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	_, images := history(t, 3, 100)
	for name, image := range map[string][]byte{
		"empty":              {},
		"one byte":           {0},
		"zeros":              make([]byte, len(images[2])),
		"noise":              noise,
		"a page of noise":    noise[:page],
		"text":               bytes.Repeat([]byte("a text. "), 64<<10),
		"noise after metas":  join(images[2][:metas], noise),
		"zeros after metas":  join(images[2][:metas], make([]byte, len(images[2]))),
		"twice the same":     join(images[2][:page], images[2][:len(images[2])-page]),
		"the metas swapped":  join(join(images[2][page:metas], images[2][:page]), images[2][metas:]),
		"noise before metas": join(noise[:page], images[2]),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			got, err := f.load(t, image)
			if !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("Open: %q, %v, want ErrDamaged", got, err)
			}
			path := filepath.Join(f.dir, store.FileName)
			if !strings.Contains(err.Error(), path+" is damaged: ") || !strings.Contains(err.Error(), "move it away") {
				t.Errorf("Open: %v, want one that names the file and what helps", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, image) {
				t.Errorf("Open changed the damaged file (%v)", err)
			}
		})
	}
}
