package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/disk"
)

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCreatedFilesAreOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "above", "folder", "file")
	if err := disk.Create(path, []byte("made")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "made" {
		t.Errorf("the file holds %q, want %q", got, "made")
	}
	for at, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if os.PathSeparator == '/' && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", at, info.Mode().Perm(), want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the file alone", entries, err)
	}
}

// Create also keeps a dangling link: the disk of its target may not be mounted.
func TestCreateKeepsExistingFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	for _, err := range []error{os.WriteFile(file, []byte("theirs"), 0o600), os.Symlink(filepath.Join(dir, "nowhere"), link)} {
		if err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{file, link} {
		if err := disk.Create(path, []byte("ours")); err != nil {
			t.Error(err)
		}
	}
	if got := content(t, file); got != "theirs" {
		t.Errorf("the file holds %q, want %q", got, "theirs")
	}
	if to, err := os.Readlink(link); err != nil || !strings.HasSuffix(to, "nowhere") {
		t.Errorf("the link leads to %q (%v)", to, err)
	}
	if _, err := disk.OpenExclusive(link); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenExclusive of the link: %v, want that there is nothing", err)
	}
}

// TestConcurrentCreatesMakeOneFile: the first caller creates the file, and no other caller replaces it.
func TestConcurrentCreatesMakeOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	const n = 16
	made, errs := make(chan os.FileInfo, n), make(chan error, n)
	for i := range n {
		go func() {
			err := disk.Create(path, []byte{byte(i)})
			info, statErr := os.Stat(path)
			made <- info
			errs <- errors.Join(err, statErr)
		}()
	}
	var first os.FileInfo
	for range n {
		info := <-made
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = info
		}
		if !os.SameFile(first, info) {
			t.Error("a file was replaced by another")
		}
	}
}

func TestOpenExclusiveLocksFile(t *testing.T) {
	dir := t.TempDir()
	path, half, other := filepath.Join(dir, "file"), filepath.Join(dir, "file.new-123"), filepath.Join(dir, "file.news")
	for _, name := range []string{path, half, other} {
		if err := os.WriteFile(name, []byte("some"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := disk.OpenExclusive(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.OpenExclusive(path); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("the second: %v, want ErrLocked", err)
	}
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a crash left of the file is still there (%v)", err)
	}
	if got := content(t, other); got != "some" {
		t.Errorf("another file holds %q", got)
	}
	if _, err := file.WriteAt([]byte("more"), 2); err != nil {
		t.Fatal(err)
	}
	if err := disk.Flush(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "somore" {
		t.Errorf("the file holds %q, want %q", got, "somore")
	}
	again, err := disk.OpenExclusive(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := disk.Flush(again); err == nil {
		t.Error("a closed file was synced")
	}
}

// A process that ends releases its lock a moment later.
func TestOpenExclusiveWaitsForEndingProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := disk.Create(path, nil); err != nil {
		t.Fatal(err)
	}
	for range 10 { // the second call is not always the first to open the file
		first, err := disk.OpenExclusive(path)
		if err != nil {
			t.Fatal(err)
		}
		asking, opened := make(chan struct{}), make(chan error)
		go func() {
			close(asking)
			second, err := disk.OpenExclusive(path)
			if err == nil {
				err = second.Close()
			}
			opened <- err
		}()
		<-asking
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-opened; err != nil {
			t.Fatalf("the second: %v, want that it waits for the first", err)
		}
	}
}
