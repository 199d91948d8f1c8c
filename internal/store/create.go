package store

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// leftover is what a file is called until it is complete, with a part of its own
// for each attempt.
const leftover = FileName + ".new-"

// makeFolder makes dir and what is missing above it, each durable when it
// returns.
func makeFolder(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(filepath.Clean(dir))
	if above != dir {
		if err := makeFolder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(above)
}

// create makes the file under another name and gives it its own when it is
// complete and durable. So no crash leaves a part of it under its own name, and
// whatever is wrong with a file of that name is damage.
func create(dir, path string) error {
	file, err := os.CreateTemp(dir, leftover+"*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	db, err := openBolt(file.Name(), Options{}, false)
	if err != nil {
		return err
	}
	err = fill(file, db)
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return publish(file.Name(), path)
}

// fill makes an empty store of an empty bbolt file.
func fill(file *os.File, db *bolt.DB) error {
	const begin = 4 * pageSize // what bbolt has written
	if _, err := file.WriteAt(make([]byte, room-begin), begin); err != nil {
		return err
	}
	// The commit syncs the pages above, too.
	return db.Update(func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucket(recordsBucket); err != nil {
			return err
		}
		bucket, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		if err := bucket.Put(formatKey, binary.BigEndian.AppendUint64(nil, format)); err != nil {
			return err
		}
		return bucket.Put(sealKey, seal(uint64(tx.ID()), digests{}))
	})
}

// publish gives the file its name, unless another process was faster: then the
// name stays with that one's file, which may be in use.
func publish(temporary, path string) error {
	linkErr := os.Link(temporary, path)
	if linkErr == nil {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	// A file system without hard links. Of two processes that come here at once the
	// second may take the name from the first, which then holds a file without one.
	return os.Rename(temporary, path)
}

// removeLeftovers removes what crashes left of files that never were complete. An
// attempt that is under way finds the name taken. What cannot be removed is a few
// blocks, and not worth an error.
func removeLeftovers(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), leftover) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// syncFolder makes the names in dir durable.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there; the file system's journal does it
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: not on this file system
		return err
	}
	return nil
}
