package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/testkit"
)

// moment is a moment at which the machine may stop. Then the disk holds the synced bytes, and any part of the bytes
// written since.
type moment struct {
	synced, written []byte
	// reported is the state of the last Save that has returned, coming that of the Save that runs or was the last. A
	// start may find either.
	reported, coming string
}

// history saves several states of about one size, and returns the moments at which written bytes are not synced.
func history(t testing.TB, size int) (all []moment) {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	read := func() []byte {
		content, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	random := rand.New(rand.NewPCG(1, uint64(size)))
	var now moment
	s.flush = func(file *os.File) error {
		now.written = read()
		all = append(all, now)
		now.synced = now.written
		return disk.Flush(file)
	}
	now.synced = read() // Open has synced all but a mark
	for i := range 5 {
		state := make([]byte, size+i) // has no byte of the previous state
		for k := range state {
			state[k] = byte(1 + i + 6*random.IntN(40))
		}
		now.coming = string(state)
		if err := s.Save([]byte(now.coming)); err != nil {
			t.Fatal(err)
		}
		now.reported = now.coming
		now.written = read() // the mark
		all = append(all, now)
	}
	return all
}

// changed returns the range in which the written bytes differ from the synced ones.
func (m moment) changed() (from, to int) {
	from = len(m.synced)
	for i := range m.synced {
		if m.synced[i] != m.written[i] {
			from, to = min(from, i), i+1
		}
	}
	return from, to
}

// found returns the state that a start finds in a file, or "damaged".
func found(t testing.TB, file []byte) string {
	t.Helper()
	_, state, err := decode(file)
	if errors.Is(err, ErrDamaged) {
		return "damaged"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(state)
}

// sizes are sizes of states: within a sector, a page, several pages, and nearly the maximum.
var sizes = []int{40, 600, 5000, MaxState - 10}

// After a crash at any byte of a write, from either side, a start finds the previous save or the new one.
func TestCrashAtAnyByteKeepsOneSave(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprint("size=", size), func(t *testing.T) {
			t.Parallel()
			step := 1
			if size > 10_000 { // coprime to all sizes of blocks, so that blocks are cut everywhere
				step = 509
				if testkit.Long() {
					step = 31
				}
			}
			cuts := 0
			for _, m := range history(t, size) {
				from, to := m.changed()
				for _, order := range [][2][]byte{{m.written, m.synced}, {m.synced, m.written}} {
					file := bytes.Clone(order[1])
					for k := from; k <= to; k += step {
						copy(file[max(from, k-step):k], order[0][max(from, k-step):k])
						cuts++
						if got := found(t, file); got != m.reported && got != m.coming {
							t.Fatalf("cut at %d of %d to %d: %.60q, want %.60q or %.60q", k, from, to, got, m.reported, m.coming)
						}
					}
				}
			}
			if cuts < 10*size/step {
				t.Errorf("%d cuts, want one at least for every %d bytes of 10 saves and marks", cuts, step)
			}
		})
	}
}

// The sectors of a write may reach the disk in any order.
func TestCrashWithAnyPartOfSaveKeepsOneSave(t *testing.T) {
	const sector = 512
	for _, size := range sizes {
		random := rand.New(rand.NewPCG(1, uint64(size)))
		seen := map[bool]int{}
		for _, m := range history(t, size) {
			for range 50 {
				file := bytes.Clone(m.synced)
				often := 1 + random.IntN(20)
				for k := 0; k < len(file); k += sector {
					if random.IntN(often) == 0 {
						copy(file[k:k+sector], m.written[k:k+sector])
					}
				}
				got := found(t, file)
				if got != m.reported && got != m.coming {
					t.Fatalf("%.60q, want %.60q or %.60q", got, m.reported, m.coming)
				}
				seen[got == m.reported]++
			}
		}
		if seen[true] == 0 || seen[false] == 0 {
			t.Errorf("size %d: %v, want some of both", size, seen)
		}
	}
}

// If a bit of the file changes, a start finds the last saved state or damage, never an older state.
func TestChangedByteIsDetectedOrHarmless(t *testing.T) {
	for _, size := range []int{40, 600, 5000} {
		moments := history(t, size)
		last := moments[len(moments)-1]
		file, seen, harmless := last.written, 0, 0
		for i := range file {
			if slot := i % slotSize; slot > 2*headSize+size+5 && i%509 != 0 {
				continue // these bytes were never written: some of them are enough
			}
			file[i] ^= 1 << (i % 8)
			switch got := found(t, file); got {
			case "damaged":
				seen++
			case last.reported:
				harmless++
			default:
				t.Fatalf("with byte %d changed: %.60q, want %.60q or damaged", i, got, last.reported)
			}
			file[i] ^= 1 << (i % 8)
		}
		if want := headSize + len(last.reported); seen != want || harmless == 0 {
			t.Errorf("%d changes were seen and %d were harmless, want %d and some", seen, harmless, want)
		}
	}
}

// A start detects that the disk has lost a save that it reported as synced, or a part of it.
func TestLostWriteIsDetected(t *testing.T) {
	for _, size := range sizes {
		for _, m := range history(t, size) {
			if m.reported != m.coming {
				continue // the save is not reported yet
			}
			begin := bytes.Index(m.written, []byte(m.reported)) - headSize
			for _, lost := range [][2]int{{0, headSize + size/2}, {0, 16}, {16, 20}, {headSize, headSize + 1}, {headSize, headSize + size/2}} {
				file := bytes.Clone(m.written)
				clear(file[begin+lost[0] : begin+lost[1]])
				if got := found(t, file); got != "damaged" {
					t.Errorf("with bytes %d to %d of the record lost: %.60q, want damaged", lost[0], lost[1], got)
				}
			}
		}
		moments := history(t, size)
		before, after := moments[len(moments)-3], moments[len(moments)-1]
		begin := bytes.Index(after.written, []byte(after.reported)) - 2*headSize
		file := bytes.Clone(after.written)
		copy(file[begin:begin+slotSize], before.written[begin:begin+slotSize]) // the whole write
		if got := found(t, file); got != "damaged" {
			t.Errorf("with the last save lost: %.60q, want damaged", got)
		}
	}
}

// If the disk lost some writes to one half, the numbers of the two saves are not consecutive.
func TestNonConsecutiveSavesAreDamaged(t *testing.T) {
	for _, test := range []struct {
		first, second uint64 // the numbers in the two halves
		want          string
	}{{4, 1, "1 and 4"}, {2, 5, "2 and 5"}, {6, 3, "3 and 6"}} {
		file := make([]byte, fileSize)
		copy(file[headSize:], encodeSlot(test.first, []byte("one")))
		copy(file[slotSize+headSize:], encodeSlot(test.second, []byte("other")))
		if _, _, err := decode(file); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "its last two saves are numbers "+test.want) {
			t.Errorf("decode: %v, want that they are %s", err, test.want)
		}
	}
	file := newFile()
	copy(file[headSize:], encodeSlot(2, []byte("kept")))
	if number, state, err := decode(file); number != 2 || string(state) != "kept" || err != nil {
		t.Errorf("decode: %d, %q, %v, want 2 and what was kept", number, state, err)
	}
}

// A length is checked before it is used.
func TestLengthBeyondSlotIsDamaged(t *testing.T) {
	for _, length := range []uint32{MaxState + 1, MaxState + headSize, slotSize, 1<<32 - 1} {
		file := make([]byte, fileSize)
		copy(file[headSize:], encodeSlot(2, []byte("state")))
		binary.LittleEndian.PutUint32(file[headSize+4:], length)
		if _, _, err := decode(file); !errors.Is(err, ErrDamaged) {
			t.Errorf("decode of a length of %d: %v, want ErrDamaged", length, err)
		}
	}
}

func TestNewerFormatIsRejected(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	newer := encodeSlot(s.number+1, []byte("in another way"))
	binary.LittleEndian.PutUint32(newer, 2)
	binary.LittleEndian.PutUint64(newer[16:], crc64.Update(crc64.Checksum(newer[:16], crcTable), crcTable, newer[headSize:]))
	if _, err := s.file.WriteAt(newer, int64(s.number+1)%2*slotSize+headSize); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir)
	want := s.path + ": written by a newer version (format 2, where this one knows format 1): run the version that wrote it"
	if !errors.Is(err, ErrNewerVersion) || !strings.Contains(err.Error(), want) {
		t.Errorf("Open: %v, want ErrNewerVersion that says %q", err, want)
	}
}

// A save is synced before its mark is written, also at the start, before the node can act on the state.
func TestSaveIsSyncedBeforeMark(t *testing.T) {
	moments := history(t, 40)
	for i, m := range moments {
		saving, _, err := decode(m.written)
		if err != nil {
			t.Fatal(err)
		}
		marks := []uint64{}
		for slot := range slices.Chunk(m.written, slotSize) {
			_, mark, _ := decodeSlot(slot)
			marks = append(marks, mark)
		}
		if want := saving - uint64(1-i%2); slices.Max(marks) != want {
			t.Errorf("moment %d, at save %d: the marks are %d, want %d as the highest", i, saving, marks, want)
		}
	}
}

// The last save of a killed process may be only in the memory of the kernel, so Open saves it again. Here it was
// neither synced nor marked.
func TestOpenSavesFoundState(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.number++
	if _, err := s.file.WriteAt(encodeSlot(s.number, []byte("written")), int64(s.number%2)*slotSize+headSize); err != nil {
		t.Fatal(err)
	}
	killed := s.number
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	content, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if number, state, err := decode(content); number != killed+1 || string(state) != "written" || err != nil {
		t.Errorf("the file holds save %d, %q (%v), want %d, %q", number, state, err, killed+1, "written")
	}
}

func TestFailedSyncEndsSaves(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	bad := errors.New("the disk is broken")
	s.flush = func(*os.File) error { return bad }
	first := s.Save([]byte("lost"))
	if !errors.Is(first, bad) {
		t.Fatalf("Save: %v, want %v", first, bad)
	}
	s.flush = disk.Flush
	if err := s.Save([]byte("later")); err != first {
		t.Errorf("the next Save: %v, want the first error", err)
	}
}

// FuzzDecode replaces a part of a valid file by any bytes.
func FuzzDecode(f *testing.F) {
	moments := history(f, 600)
	last := moments[len(moments)-1]
	f.Add(uint32(0), []byte{})
	f.Add(uint32(headSize+4), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(slotSize), encodeSlot(1<<63, nil))
	f.Add(uint32(slotSize+headSize), encodeSlot(7, []byte("of none")))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		file := bytes.Clone(last.written)
		copy(file[int(at)%len(file):], patch)
		number, state, err := decode(file)
		known := []error{ErrDamaged, ErrNewerVersion, ErrOldFormat}
		if err != nil && !slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) {
			t.Errorf("%v, want one of %v", err, known)
		}
		if err == nil && (number == 0 || len(state) > MaxState) {
			t.Errorf("save %d of %d bytes", number, len(state))
		}
	})
}
