// Package store saves one small state that a node must not lose in a crash. The store does not interpret the state.
//
//	s, err := store.Open("/var/lib/elect")
//	state, err := s.Load()
//	err = s.Save(state)
//
// Guarantees: when Save returns, the state survives a crash of the process or of the machine. After a crash during
// Save, Load returns either the new or the previous state. Open rejects a file that is damaged or misses a
// write that the disk has lost: it never takes such a file for an older or an empty state. A node that forgot a vote
// could elect a second leader.
//
// Non-guarantees: a store cannot detect that its folder was replaced by a backup.
//
// Cost: a Save syncs the file once. A file has 256 KiB.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/elect-go/elect/internal/disk"
)

// FileName is the file that [Open] keeps in its folder. Files of the time before format 1 have the same name, so that
// neither version takes a folder of the other for an empty one.
const FileName = "elect.db"

// Store saves a state in a file, or in memory. Its methods may be called concurrently.
type Store struct {
	mu      sync.Mutex
	path    string
	file    *os.File // nil: in memory, or closed
	created fs.FileInfo
	flush   func(*os.File) error
	number  uint64 // of the last save
	state   []byte
	err     error // what every Load and Save returns, if it is not nil
}

// NewMemory returns a store that lives as long as the process. Like a disk, it keeps its state after Close, for the
// next start of a node.
func NewMemory() *Store { return &Store{} }

// Open opens the store in the folder dir. It creates the folder with mode 0700 and the file with mode 0600 if they do
// not exist. An empty or truncated file is damaged, not new. Open rejects a folder or file that another user can
// change: see [disk.CheckFolder]. Its errors name the file and a remedy.
func Open(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("store: no data directory is named")
	}
	path, err := filepath.Abs(filepath.Join(dir, FileName)) // the process may change its working directory
	if err != nil {
		return nil, explain(dir, err)
	}
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return nil, explain(filepath.Dir(path), err)
	}
	s := &Store{path: path, flush: disk.Flush}
	if err := s.open(); err != nil {
		s.file.Close() // also if it is nil
		return nil, explain(path, err)
	}
	return s, nil
}

// checkFolder creates the folder if it does not exist, and rejects a folder in which another user can replace the
// file.
func checkFolder(dir string) error {
	if err := disk.MakeFolder(dir); err != nil {
		return err
	}
	return disk.CheckFolder(dir)
}

func (s *Store) open() (err error) {
	if err = disk.Create(s.path, newFile()); err != nil {
		return err
	}
	if s.file, err = disk.OpenExclusive(s.path); err != nil {
		return err
	}
	if err = disk.CheckInFolder(s.file); err != nil {
		return err
	}
	if s.created, err = s.file.Stat(); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(s.file, fileSize+1))
	if err != nil {
		return err
	}
	if s.number, s.state, err = decode(content); err != nil {
		return err
	}
	// If the process was killed, or a sync failed, the kernel may know the last save and the disk may not. Nothing
	// may depend on such a save, so it is saved again.
	return s.write(s.state)
}

// Load returns the last saved state, or nil if there is none.
func (s *Store) Load() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	return bytes.Clone(s.state), nil
}

// Save replaces the state, and returns when the new one is durable.
func (s *Store) Save(state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.file != nil {
		if err := s.write(state); err != nil {
			s.err = explain(s.path, fmt.Errorf("save (nothing more is saved, as this may be in the file or not): %w", err))
		}
	}
	s.state = bytes.Clone(state)
	return s.err
}

func (s *Store) write(state []byte) error {
	if len(state) > MaxState {
		return ErrTooLarge
	}
	s.number++
	slot := int64(s.number%2) * slotSize
	if _, err := s.file.WriteAt(encodeSlot(s.number, state), slot+headSize); err != nil {
		return err
	}
	if err := s.flush(s.file); err != nil {
		return err
	}
	// Other errors prove nothing about the file: the process may have dropped its privileges.
	now, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !os.SameFile(now, s.created) {
		return ErrReplaced
	}
	_, err = s.file.WriteAt(encodeSlot(s.number, nil), slotSize-slot)
	return err
}

// Close closes the file. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file, s.err = nil, ErrClosed
	return err
}
