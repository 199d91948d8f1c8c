package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/elect-go/elect/internal/store"
)

type state = map[string][]byte

func open(t testing.TB, dir string) *store.Bolt {
	t.Helper()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func save(t testing.TB, s store.Store, records ...store.Record) {
	t.Helper()
	if err := s.Save(records...); err != nil {
		t.Fatal(err)
	}
}

func closeStore(t testing.TB, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantState(t testing.TB, s store.Store, want state) {
	t.Helper()
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("Load() = %q, want %q", got, want)
	}
}

func record(key, value string) store.Record { return store.Record{Key: key, Value: []byte(value)} }

// refused asserts that Open fails with that reason and says these words.
func refused(t *testing.T, dir string, why error, words ...string) {
	t.Helper()
	s, err := store.Open(dir, store.Options{})
	if err == nil {
		s.Close()
		t.Fatalf("Open succeeded, want the error %v", why)
	}
	if !errors.Is(err, why) {
		t.Errorf("Open: %v, want an error that is %v", err, why)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Open: %q does not say %q", err, word)
		}
	}
}

func TestWhatWasSavedIsLoaded(t *testing.T) {
	large := strings.Repeat("a view of many members ", 2000) // several pages
	dir := t.TempDir()
	for name, reopen := range map[string]func(t *testing.T) store.Store{
		"bolt": func(t *testing.T) store.Store { return open(t, dir) },
		"memory": func() func(*testing.T) store.Store {
			m := store.NewMemory()
			return func(*testing.T) store.Store { return m }
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			s := reopen(t)
			wantState(t, s, state{})
			save(t, s, record("algorithm", "epoch 1"), record("view", large))
			save(t, s, record("algorithm", "epoch 2"), record("empty", ""))
			save(t, s)
			save(t, s, record("id", "first"), record("id", "the last of two in one save counts"))
			want := state{"algorithm": []byte("epoch 2"), "view": []byte(large), "empty": {}, "id": []byte("the last of two in one save counts")}
			wantState(t, s, want)
			closeStore(t, s)
			if err := s.Save(record("late", "")); !errors.Is(err, store.ErrClosed) {
				t.Errorf("Save after Close: %v, want ErrClosed", err)
			}
			closeStore(t, s) // again does nothing

			s = reopen(t)
			wantState(t, s, want)
			save(t, s, record("view", "a small one"))
			want["view"] = []byte("a small one")
			closeStore(t, s)
			wantState(t, reopen(t), want)
		})
	}
}

func TestLoadGivesACopy(t *testing.T) {
	for name, s := range map[string]store.Store{"bolt": open(t, t.TempDir()), "memory": store.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			value := []byte("kept")
			save(t, s, store.Record{Key: "k", Value: value})
			copy(value, "gone")
			loaded, err := s.Load()
			if err != nil {
				t.Fatal(err)
			}
			copy(loaded["k"], "lost")
			delete(loaded, "k")
			wantState(t, s, state{"k": []byte("kept")})
		})
	}
}

func TestAStoreThatFailedStaysFailed(t *testing.T) {
	for name, s := range map[string]store.Store{"bolt": open(t, t.TempDir()), "memory": store.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			first := s.Save(record("good", ""), record("", "no key"))
			if first == nil {
				t.Fatal("a record without a key was saved")
			}
			if err := s.Save(record("good", "")); err != first {
				t.Errorf("the next Save: %v, want the first error", err)
			}
			if _, err := s.Load(); err != first {
				t.Errorf("the next Load: %v, want the first error", err)
			}
		})
	}
}

func TestAFailedSaveSavesNoneOfItsRecords(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, record("a", "1"))
	if s.Save(record("a", "2"), record("", "no key")) == nil {
		t.Fatal("a record without a key was saved")
	}
	closeStore(t, s)
	wantState(t, open(t, dir), state{"a": []byte("1")})
}

func TestFolderAndFileAreForTheOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "data")
	closeStore(t, open(t, dir))
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, filepath.Join(dir, store.FileName): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if os.PathSeparator == '/' && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
}

func TestASaveDoesNotGrowTheFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	before := fileSize(t, dir)
	for i := range 200 {
		save(t, s, record("algorithm", strings.Repeat("e", 40)), record("view", strings.Repeat("v", i*50)))
	}
	if after := fileSize(t, dir); after != before {
		t.Errorf("the file grew from %d to %d bytes", before, after)
	}
}

func TestRecordsBeyondTheRoomGrowTheFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := state{}
	for _, size := range []int{1 << 10, 300 << 10, 1 << 20, 1 << 10} {
		want["view"] = []byte(strings.Repeat("v", size))
		save(t, s, store.Record{Key: "view", Value: want["view"]})
	}
	closeStore(t, s)
	wantState(t, open(t, dir), want)
}

func fileSize(t testing.TB, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestTheSecondOpenIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	refused(t, dir, store.ErrLocked,
		"store: "+filepath.Join(dir, store.FileName)+" is in use by another process: one data folder serves one node")
	save(t, s, record("still", "mine"))
	closeStore(t, s)
	wantState(t, open(t, dir), state{"still": []byte("mine")})
}

func TestOfManyOpensAtOnceAtMostOneWins(t *testing.T) {
	dir := t.TempDir()
	const n = 8
	type result struct {
		store *store.Bolt
		err   error
	}
	results := make(chan result, n)
	for range n {
		go func() {
			s, err := store.Open(dir, store.Options{})
			if err == nil {
				err = s.Save(record("winner", "one"))
			}
			results <- result{s, err}
		}()
	}
	var won *store.Bolt
	for range n {
		switch r := <-results; {
		case errors.Is(r.err, store.ErrLocked):
		case r.err != nil:
			t.Error(r.err)
		case won != nil:
			t.Error("two opens succeeded")
		default:
			won = r.store
		}
	}
	if won == nil {
		t.Fatal("no open succeeded")
	}
	closeStore(t, won)
	wantState(t, open(t, dir), state{"winner": []byte("one")})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want %s alone", entries, err, store.FileName)
	}
}

func TestWhatACrashLeftOfAFirstStartIsRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"elect.db.new-1", "elect.db.new-2", "another file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, open(t, dir), state{})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "another file" {
		t.Errorf("the folder holds %v (%v), want the other file and %s", entries, err, store.FileName)
	}
}

func TestPlacesThatCannotHoldAStoreAreRefused(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "folder")
	if err := os.MkdirAll(filepath.Join(folder, store.FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, dir string
		why       error
		words     string
	}{
		{"the folder is a file", file, syscall.ENOTDIR, file + ": make the folder: "},
		{"a folder above is a file", filepath.Join(file, "data"), syscall.ENOTDIR, "name a folder as the data folder"},
		{"the file is a folder", folder, nil, filepath.Join(folder, store.FileName) + " is not a regular file: move it away"},
		{"no name", "", nil, "no data folder is named"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := store.Open(test.dir, store.Options{})
			if err == nil || test.why != nil && !errors.Is(err, test.why) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("Open: %v, want one that is %v and says %q", err, test.why, test.words)
			}
		})
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, open(t, dir))
	path := filepath.Join(dir, store.FileName)
	edit(t, path, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte{0, 0, 0, 0, 0, 0, 0, 2})
	})
	refused(t, dir, store.ErrNewerVersion, path+" was written by a newer version (format 2, where this one knows format 1): run the version that wrote it")
}

func TestAnotherProgramsFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, store.FileName)
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 4096, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	edit(t, path, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("theirs"))
		if err != nil {
			return err
		}
		return b.Put([]byte("large"), make([]byte, 300<<10))
	})
	refused(t, dir, store.ErrDamaged, path+" is damaged: it is a bbolt file, but not one of this package; move it away")
}

// TestAChangeByAnotherProgramIsSeen: the seal tells that bbolt's own tools wrote.
func TestAChangeByAnotherProgramIsSeen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, record("vote", "a"))
	closeStore(t, s)
	edit(t, filepath.Join(dir, store.FileName), func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("records")).Put([]byte("vote"), []byte("b"))
	})
	refused(t, dir, store.ErrDamaged, "its records are not those of its last transaction")
}

// edit changes a file behind the store's back.
func edit(t *testing.T, path string, change func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
}
