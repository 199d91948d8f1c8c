// Package disk hides how operating systems differ in their treatment of files.
//
//	err := disk.Create(path, content)     // a crash leaves the whole file, or none
//	file, err := disk.OpenExclusive(path) // no other process has it open
//	err = disk.Flush(file)                // its content survives a crash of the machine
//
// Its errors are those of package os.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ErrLocked reports that a file is open elsewhere, in this process or another one.
var ErrLocked = errors.New("in use by another process")

// lockTimeout is how long OpenExclusive waits for a process that is just ending.
const lockTimeout = 200 * time.Millisecond

// tempSuffix follows the name of a file until the file is complete. A random part, different for each attempt,
// follows it.
const tempSuffix = ".new-"

// Create creates a file with the given content and mode 0600, and its folder with mode 0700, unless the path exists.
// The file gets its name when it is complete and durable, so no crash leaves a partial file under that name. Create
// writes each block, so a later overwrite needs no new block from the file system.
func Create(path string, content []byte) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // OpenExclusive reports a problem with it
	}
	dir, name := filepath.Split(path)
	if err := MakeFolder(filepath.Clean(dir)); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, name+tempSuffix)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	// A rename could replace the file of a faster process, which may be in use.
	if os.Link(file.Name(), path) == nil {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return os.Rename(file.Name(), path) // for a file system without hard links
}

// MakeFolder creates dir and its missing parents. Each of them is durable when MakeFolder returns.
func MakeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := MakeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(dir))
}

// OpenExclusive opens a regular file to read and write, and locks it until it is closed. It makes the name durable,
// and removes the temporary files that crashes have left.
func OpenExclusive(path string) (*os.File, error) {
	file, err := openRegular(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(lockTimeout)
	for err = lock(file); err == ErrLocked && time.Now().Before(deadline); err = lock(file) {
		time.Sleep(lockTimeout / 20)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path)) // the process that created the file may have been killed before it synced the folder
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	removeTemp(path)
	return file, nil
}

// removeTemp removes files that were never completed. A concurrent attempt then finds the path taken. A file that
// cannot be removed costs a few blocks, so errors are ignored.
func removeTemp(path string) {
	dir, name := filepath.Split(path)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+tempSuffix) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// syncFolder makes the names in dir durable, if the system can.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err = folder.Sync(); errors.Is(err, syscall.EINVAL) || runtime.GOOS == "windows" {
		return nil
	}
	return err
}
