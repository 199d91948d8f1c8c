//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/store"
)

// requireRejected opens the store of dir, which must fail with words.
func requireRejected(t *testing.T, dir, words string) {
	t.Helper()
	s, err := store.Open(dir)
	if err == nil {
		closeStore(t, s)
	}
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("Open: %v, want an error with %q", err, words)
	}
}

func TestFolderWritableForOthersIsRejected(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, err := range []error{os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	requireRejected(t, dir, "store: "+dir+": other users can change it (mode 0777), want no write permission for group and others: chmod go-w "+dir)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v (%v), want nothing", entries, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	closeStore(t, open(t, dir))
}

func TestDataFileWritableForOthersIsRejected(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, open(t, dir))
	path := filepath.Join(dir, store.FileName)
	if err := os.Chmod(path, 0o606); err != nil {
		t.Fatal(err)
	}
	requireRejected(t, dir, "store: "+path+": other users can change it (mode 0606)")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	closeStore(t, open(t, dir))
}

func TestFolderOrDataFileOfAnotherUserIsRejected(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	dir := t.TempDir()
	closeStore(t, open(t, dir))
	for _, path := range []string{dir, filepath.Join(dir, store.FileName)} {
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		requireRejected(t, dir, "store: "+path+": it belongs to user 65534, want root: chown root "+path)
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, open(t, dir))
}
