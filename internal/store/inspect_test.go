package store

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// sample returns the bytes of a file and the records in it.
func sample(t testing.TB, size int) ([]byte, map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 40 { // enough keys that large values need a branch page
		text := strings.Repeat(string(rune('a'+i%26)), size)
		if err := s.Save(Record{Key: text[:1] + strings.Repeat("k", i), Value: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return image, records
}

func inspectBytes(image []byte) (*contents, error) {
	return inspect(bytes.NewReader(image), int64(len(image)))
}

func TestInspectReadsWhatBoltWrote(t *testing.T) {
	for name, size := range map[string]int{"within a page": 3, "one page": 30, "branches": 700, "long values": 6000} {
		t.Run(name, func(t *testing.T) {
			image, want := sample(t, size)
			c, err := inspectBytes(image)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := unseal(c); err != nil {
				t.Error(err)
			}
			if !reflect.DeepEqual(c.records, want) {
				t.Errorf("inspect read %d records, bbolt %d, and they differ", len(c.records), len(want))
			}
		})
	}
}

// TestEveryChangedByteIsSeenOrHarmless changes each byte of the file in turn.
func TestEveryChangedByteIsSeenOrHarmless(t *testing.T) {
	image, want := sample(t, 700)
	last, err := lastMeta(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	seen, harmless := 0, 0
	step := 31 // prime to the size of everything in the file
	for i := 0; i < int(last.pages)*pageSize; i += step {
		image[i] ^= byte(1 << (i % 8))
		c, err := inspectBytes(image)
		if err == nil {
			_, err = unseal(c)
		}
		if err != nil {
			seen++
		} else if harmless++; !reflect.DeepEqual(c.records, want) {
			t.Fatalf("with byte %d changed the records differ, and that is not seen", i)
		}
		image[i] ^= byte(1 << (i % 8))
	}
	if seen == 0 || harmless == 0 {
		t.Errorf("%d changes were seen and %d were harmless, want some of each", seen, harmless)
	}
}

// FuzzInspect patches a good file: what inspect takes for a file without a fault,
// bbolt must read without one, and the same.
func FuzzInspect(f *testing.F) {
	small, _ := sample(f, 20)
	large, _ := sample(f, 700)
	f.Add(false, uint32(0), []byte{})
	f.Add(true, uint32(8*pageSize+8), []byte{branchPage})
	f.Add(true, uint32(9*pageSize+12), []byte{0xff, 0xff, 0xff, 0x7f})
	f.Add(false, uint32(4*pageSize+20), []byte{0xff, 0xff, 0xff, 0xff})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, isLarge bool, at uint32, patch []byte) {
		image := bytes.Clone(small)
		if isLarge {
			image = bytes.Clone(large)
		}
		copy(image[int(at)%len(image):], patch)
		c, err := inspectBytes(image)
		if err != nil {
			return
		}
		path := filepath.Join(dir, FileName)
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := openBolt(path, Options{}, false)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		records := map[string][]byte{}
		err = db.View(func(tx *bolt.Tx) error {
			for err := range tx.Check() {
				t.Error(err)
			}
			return tx.Bucket(recordsBucket).ForEach(func(key, value []byte) error {
				records[string(key)] = bytes.Clone(value)
				return nil
			})
		})
		if err != nil || !reflect.DeepEqual(records, c.records) {
			t.Errorf("bbolt reads other records than inspect (%v)", err)
		}
	})
}
