//go:build unix

package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/elect-go/elect/internal/disk"
)

// A FIFO is not opened. Otherwise, this test would wait for the other end of the FIFO.
func TestOnlyRegularFileIsOpened(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "it is a FIFO", os.DevNull: "it is a device", dir: "a directory"} {
		_, err := disk.Read(path, disk.CheckIntegrity, 1)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Read of %s: %v, want %q", path, err, want)
		}
		file, err := disk.OpenExclusive(path)
		if err == nil {
			file.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("OpenExclusive of %s: %v, want %q", path, err, want)
		}
	}
	if err := disk.CheckFolder(fifo); err != nil {
		t.Errorf("CheckFolder of a FIFO: %v, want that only its owner and mode count", err)
	}
}
