package store_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/elect-go/elect/internal/store"
)

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func save(t testing.TB, s *store.Store, state string) {
	t.Helper()
	if err := s.Save([]byte(state)); err != nil {
		t.Fatal(err)
	}
}

func closeStore(t testing.TB, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantState(t testing.TB, s *store.Store, want string) {
	t.Helper()
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatalf("Load() = %.100q, want %.100q", got, want)
	}
}

// requireOpenError requires that Open fails for this reason, and that the text has these words.
func requireOpenError(t *testing.T, dir string, why error, words ...string) {
	t.Helper()
	s, err := store.Open(dir)
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

func TestSavedStateIsLoaded(t *testing.T) {
	dir, memory := t.TempDir(), store.NewMemory()
	for name, reopen := range map[string]func(t *testing.T) *store.Store{
		"file":   func(t *testing.T) *store.Store { return open(t, dir) },
		"memory": func(*testing.T) *store.Store { return memory },
	} {
		t.Run(name, func(t *testing.T) {
			s := reopen(t)
			wantState(t, s, "")
			save(t, s, "epoch 1")
			large := strings.Repeat("a view of many members ", 2000) // several pages
			save(t, s, large)
			wantState(t, s, large)
			closeStore(t, s)
			closeStore(t, s) // a second time does nothing

			for _, state := range []string{large, "a small one", "", "another", strings.Repeat("x", store.MaxState)} {
				s = reopen(t)
				save(t, s, state)
				closeStore(t, s)
				s = reopen(t)
				wantState(t, s, state)
				closeStore(t, s)
			}
		})
	}
}

func TestClosedStoreRejectsSave(t *testing.T) {
	s := open(t, t.TempDir())
	closeStore(t, s)
	if err := s.Save([]byte("late")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Save after Close: %v, want ErrClosed", err)
	}
	if _, err := s.Load(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Load after Close: %v, want ErrClosed", err)
	}
}

func TestLoadReturnsCopy(t *testing.T) {
	for name, s := range map[string]*store.Store{"file": open(t, t.TempDir()), "memory": store.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			state := []byte("kept")
			if err := s.Save(state); err != nil {
				t.Fatal(err)
			}
			copy(state, "gone")
			loaded, err := s.Load()
			if err != nil {
				t.Fatal(err)
			}
			copy(loaded, "lost")
			wantState(t, s, "kept")
		})
	}
}

func TestTooLargeStateIsRejectedPermanently(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, "the first")
	first := s.Save(make([]byte, store.MaxState+1))
	if want := filepath.Join(dir, store.FileName) + ": save "; !errors.Is(first, store.ErrTooLarge) || !strings.Contains(first.Error(), want) {
		t.Fatalf("Save of too much: %v, want ErrTooLarge that says %q", first, want)
	}
	if err := s.Save(nil); err != first {
		t.Errorf("the next Save: %v, want the first error", err)
	}
	if _, err := s.Load(); err != first {
		t.Errorf("the next Load: %v, want the first error", err)
	}
	closeStore(t, s)
	wantState(t, open(t, dir), "the first")
}

func TestFolderAndFileAreOwnerOnly(t *testing.T) {
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

func TestSaveDoesNotGrowFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	before := fileSize(t, dir)
	for i := range 200 {
		save(t, s, strings.Repeat("v", i*50))
	}
	save(t, s, strings.Repeat("v", store.MaxState))
	if after := fileSize(t, dir); after != before {
		t.Errorf("the file grew from %d to %d bytes", before, after)
	}
}

func fileSize(t testing.TB, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestSecondOpenIsRejected(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	requireOpenError(t, dir, store.ErrLocked,
		"store: "+filepath.Join(dir, store.FileName)+": in use by another process: one data directory serves one node")
	save(t, s, "still mine")
	closeStore(t, s)
	wantState(t, open(t, dir), "still mine")
}

func TestAtMostOneConcurrentOpenSucceeds(t *testing.T) {
	dir := t.TempDir()
	const n = 8
	type result struct {
		store *store.Store
		err   error
	}
	results := make(chan result, n)
	for range n {
		go func() {
			s, err := store.Open(dir)
			if err == nil {
				err = s.Save([]byte("won"))
			}
			results <- result{s, err}
		}()
	}
	var won *store.Store
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
	wantState(t, open(t, dir), "won")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want %s alone", entries, err, store.FileName)
	}
}

func TestTemporaryFilesOfCrashAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"elect.db.new-1", "elect.db.new-2", "another file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, open(t, dir), "")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "another file" {
		t.Errorf("the folder holds %v (%v), want the other file and %s", entries, err, store.FileName)
	}
}

func TestUnusablePathIsRejected(t *testing.T) {
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
		{"the folder is a file", file, syscall.ENOTDIR, "name a folder as the data directory"},
		{"a folder above is a file", filepath.Join(file, "data"), syscall.ENOTDIR, "name a folder as the data directory"},
		{"the file is a folder", folder, syscall.EISDIR, filepath.Join(folder, store.FileName) + ": is a directory; move it away"},
		{"no name", "", nil, "no data directory is named"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := store.Open(test.dir)
			if err == nil || test.why != nil && !errors.Is(err, test.why) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("Open: %v, want one that is %v and says %q", err, test.why, test.words)
			}
		})
	}
}

func TestFolderAndFileMayBeLinks(t *testing.T) {
	root := t.TempDir()
	target := filepath.Join(root, "target")
	s := open(t, target)
	save(t, s, "kept")
	closeStore(t, s)
	link, links := filepath.Join(root, "link"), filepath.Join(root, "links")
	for _, err := range []error{
		os.Symlink(target, link),
		os.Mkdir(links, 0o700),
		os.Symlink(filepath.Join(target, store.FileName), filepath.Join(links, store.FileName)),
	} {
		if err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	for _, dir := range []string{link, links} {
		s := open(t, dir)
		wantState(t, s, "kept")
		requireOpenError(t, target, store.ErrLocked)
		save(t, s, "kept")
		closeStore(t, s)
	}
	// The target of a link may be on a disk that is not mounted. So a missing target is no first start.
	if err := os.Rename(target, filepath.Join(root, "away")); err != nil {
		t.Fatal(err)
	}
	requireOpenError(t, link, fs.ErrNotExist)
	requireOpenError(t, links, fs.ErrNotExist)
	if info, err := os.Lstat(filepath.Join(links, store.FileName)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v (%v)", info, err)
	}
}

// Without this check, the store would save into a file that no start finds.
func TestReplacedFileIsDetected(t *testing.T) {
	for name, vanish := range map[string]func(dir string) error{
		"the file is removed":   func(dir string) error { return os.Remove(filepath.Join(dir, store.FileName)) },
		"the folder is removed": os.RemoveAll,
		"the folder is moved":   func(dir string) error { return os.Rename(dir, dir+".away") },
		"the folder is a file": func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
		},
		"another file has its name": func(dir string) error {
			path := filepath.Join(dir, store.FileName)
			content, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, content, 0o600))
		},
		"another folder has its name": func(dir string) error {
			err := os.Rename(dir, dir+".away")
			s, openErr := store.Open(dir)
			if openErr == nil {
				openErr = s.Close()
			}
			return errors.Join(err, openErr)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s := open(t, dir)
			save(t, s, "before")
			if err := vanish(dir); err != nil {
				t.Skipf("this system does not let it: %v", err)
			}
			err := s.Save([]byte("after"))
			if !errors.Is(err, store.ErrReplaced) || !strings.Contains(err.Error(), filepath.Join(dir, store.FileName)) {
				t.Errorf("Save: %v, want ErrReplaced with the name of the file", err)
			}
			if _, again := s.Load(); again != err {
				t.Errorf("Load after it: %v, want the same", again)
			}
		})
	}
}

func TestRelativeFolderIsResolvedAtOpen(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "data")
	t.Chdir(t.TempDir())
	save(t, s, "kept")
}

func TestOldFormatIsRejected(t *testing.T) {
	packed, err := os.Open("testdata/bbolt.db.gz") // saved twice at the last commit that wrote it
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	grown := append(bytes.Clone(old), old...)
	noFirst := append(make([]byte, 4096), old[4096:]...)
	for name, content := range map[string][]byte{"as made": old, "grown": grown, "first page lost": noFirst} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, store.FileName)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			requireOpenError(t, dir, store.ErrOldFormat, path+": a bbolt file, from before format 1, which commit ",
				" is the last to read: with that one have the node leave its cluster, then move the file away")
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
				t.Errorf("Open changed it (%v)", err)
			}
		})
	}
}
