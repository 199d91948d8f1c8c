package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/testkit"
)

// mountDisk mounts a disk with these options and returns its folder. It skips the test if the process may not mount
// one.
func mountDisk(t *testing.T, options string) string {
	t.Helper()
	testkit.OnlyLong(t)
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options)
	testkit.Need(t, err == nil, fmt.Sprintf("the right to mount a disk, which root has: %v", err))
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fillUp fills a disk with a file, and returns the name of the file.
func fillUp(t *testing.T, disk string) string {
	t.Helper()
	name := filepath.Join(disk, "filler")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 4096); ; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			return name
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDiskIsRejectedAtOpen(t *testing.T) {
	disk := mountDisk(t, "size=200k") // less than a new file takes
	dir := filepath.Join(disk, "data")
	requireOpenError(t, dir, syscall.ENOSPC, filepath.Join(dir, store.FileName)+": ", "make room on its disk")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the folder holds %v (%v), want nothing", entries, err)
	}
}

// A full disk fails no save, because the store reserves the blocks of its file when it creates the file.
func TestFullDiskFailsNoSave(t *testing.T) {
	disk := mountDisk(t, "size=2m")
	dir := filepath.Join(disk, "data")
	s := open(t, dir)
	fillUp(t, disk)
	for _, size := range []int{10, 5000, store.MaxState, store.MaxState - 1, 10} {
		save(t, s, strings.Repeat("v", size))
	}
	closeStore(t, s)
	wantState(t, open(t, dir), strings.Repeat("v", 10)) // open saves, too
}

// A program that copies files may leave out the zeros. Then a save needs new blocks.
func TestSparseCopyOnFullDiskIsRejected(t *testing.T) {
	disk := mountDisk(t, "size=2m")
	dir := filepath.Join(disk, "data")
	s := open(t, dir)
	save(t, s, "kept")
	closeStore(t, s)
	path := filepath.Join(dir, store.FileName)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for k := 0; k < len(content); k += 4096 {
		if block := content[k : k+4096]; len(bytes.Trim(block, "\x00")) > 0 {
			if _, err := file.WriteAt(block, int64(k)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(file.Truncate(int64(len(content))), file.Close()); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir)
	filler := fillUp(t, disk)
	save(t, s, "kept") // there is a block for it
	first := s.Save(bytes.Repeat([]byte("lost"), 10_000))
	if !errors.Is(first, syscall.ENOSPC) {
		t.Fatalf("a save of more than the disk holds: %v, want ENOSPC", first)
	}
	for _, words := range []string{path + ": save ", "make room on its disk"} {
		if !strings.Contains(first.Error(), words) {
			t.Errorf("Save: %q does not say %q", first, words)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := s.Save([]byte("later")); err != first {
		t.Errorf("a save after it, with room again: %v, want the first error", err)
	}
	closeStore(t, s)
	wantState(t, open(t, dir), "kept")
}

func TestReadOnlyFolderIsRejected(t *testing.T) {
	disk := mountDisk(t, "size=2m")
	used, unused := filepath.Join(disk, "used"), filepath.Join(disk, "unused")
	closeStore(t, open(t, used))
	if err := os.Mkdir(unused, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	help := "let the user of this process write there"
	requireOpenError(t, used, syscall.EROFS, filepath.Join(used, store.FileName)+": open ", help)
	requireOpenError(t, unused, syscall.EROFS, filepath.Join(unused, store.FileName)+": ", help)
	requireOpenError(t, filepath.Join(disk, "new"), syscall.EROFS, ": mkdir "+filepath.Join(disk, "new"), help)
}

func TestMissingPermissionIsRejected(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root is denied nothing; the read-only disk stands in for this")
	}
	used, unused := filepath.Join(t.TempDir(), "used"), t.TempDir()
	closeStore(t, open(t, used))
	if err := os.Chmod(filepath.Join(used, store.FileName), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(unused, 0o500); err != nil {
		t.Fatal(err)
	}
	requireOpenError(t, used, syscall.EACCES, "let the user of this process write there")
	requireOpenError(t, unused, syscall.EACCES, "let the user of this process write there")
}
