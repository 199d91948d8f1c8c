package store_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/elect-go/elect/internal/store"
)

// slot is the offset of the second half of a file.
const slot = 128 << 10

// fileWith returns the bytes of a file after some saves.
func fileWith(t *testing.T, states ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	for _, state := range states {
		save(t, s, state)
	}
	closeStore(t, s)
	content, err := os.ReadFile(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestInvalidContentIsDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 512<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	good := fileWith(t, "the first", "the second", "the third")
	for name, content := range map[string][]byte{
		"empty":                {},
		"one byte":             {0},
		"zeros":                make([]byte, len(good)),
		"noise":                noise,
		"noise of its size":    noise[:len(good)],
		"a page of noise":      noise[:4096],
		"text":                 bytes.Repeat([]byte("a text. "), len(good)/8),
		"half of it":           good[:slot],
		"the first half twice": join(good[:slot], good[:slot]),
		"the halves swapped":   join(good[slot:], good[:slot]),
		"noise before":         join(noise[:4096], good),
		"noise after":          join(good, noise[:1]),
		"cut by a byte":        good[:len(good)-1],
		"cut after the first":  good[:slot+100],
		"shifted by a byte":    join([]byte{0}, good[:len(good)-1]),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, store.FileName)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			requireOpenError(t, dir, store.ErrDamaged, path+": damaged: ", "move it away, and the node starts as a new member")
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
				t.Errorf("Open changed the damaged file (%v)", err)
			}
		})
	}
}

// TestDamageOfPreviousSaveIsIgnored: Load does not need the previous save any more.
func TestDamageOfPreviousSaveIsIgnored(t *testing.T) {
	good := fileWith(t, "the first", "the second", "the third")
	older := good[:slot]
	if !bytes.Contains(good[slot:], []byte("the third")) {
		t.Fatal("the last save is in the first half")
	}
	for k := range older {
		older[k] ^= 0x55
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), good, 0o600); err != nil {
		t.Fatal(err)
	}
	wantState(t, open(t, dir), "the third")
}

func TestTruncatedFileIsDamaged(t *testing.T) {
	good := fileWith(t, string(bytes.Repeat([]byte("state "), 1500)), "the second")
	dir := t.TempDir()
	for n := 0; n < len(good); n += 511 {
		if err := os.WriteFile(filepath.Join(dir, store.FileName), good[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		requireOpenError(t, dir, store.ErrDamaged)
	}
}
