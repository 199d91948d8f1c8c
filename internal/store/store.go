// Package store keeps what a node must not forget over a crash: one small state, of
// whose meaning it knows nothing.
//
// When Save returns, the state survives the process and the machine; a crash during
// Save leaves it or the one before. A file that is damaged, or whose disk lost a write,
// is refused and never taken for an older or an empty state: a node that forgets a vote
// elects two leaders.
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

// FileName is the file that [Open] keeps in its folder. Files of before format 1 have
// that name too, so that neither version takes a folder of the other for an empty one.
const FileName = "elect.db"

// Store keeps a state in a file, or in memory. Its methods may be called at the same
// time.
type Store struct {
	mu     sync.Mutex
	path   string
	file   *os.File // nil: in memory, or closed
	made   fs.FileInfo
	flush  func(*os.File) error
	number uint64 // of the last save
	state  []byte
	failed error // what every Load and Save returns, or nil
}

// NewMemory returns a store that lasts as long as the process. Like a disk it keeps its
// state over Close, for the next start of a node.
func NewMemory() *Store { return &Store{} }

// Open opens the store of the folder dir, and makes both if they do not exist: the
// folder with mode 0700, and the file with 0600. An empty file, or one that is cut
// short, is damaged and not new. A folder or file that another user can change is rejected: see
// [disk.CheckFolder]. Its errors name the file and what helps.
func Open(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("store: no data folder is named")
	}
	path, err := filepath.Abs(filepath.Join(dir, FileName)) // the process may change its folder
	if err != nil {
		return nil, explain(dir, err)
	}
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return nil, explain(filepath.Dir(path), err)
	}
	s := &Store{path: path, flush: disk.Flush}
	if err := s.open(); err != nil {
		s.file.Close() // also of nil
		return nil, explain(path, err)
	}
	return s, nil
}

// checkFolder makes the folder if it does not exist, and rejects a folder in which another user can
// replace the file.
func checkFolder(dir string) error {
	if err := disk.MakeFolder(dir); err != nil {
		return err
	}
	return disk.CheckFolder(dir)
}

func (s *Store) open() (err error) {
	if err = disk.Create(s.path, empty()); err != nil {
		return err
	}
	if s.file, err = disk.OpenAlone(s.path); err != nil {
		return err
	}
	if err = disk.CheckInFolder(s.file); err != nil {
		return err
	}
	if s.made, err = s.file.Stat(); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(s.file, fileSize+1))
	if err != nil {
		return err
	}
	if s.number, s.state, err = decode(content); err != nil {
		return err
	}
	// Of a process that was killed, or whose sync failed, the kernel may know the last
	// save and the disk not. Nobody may act on that.
	return s.write(s.state)
}

// Load returns what was saved last: no bytes if nothing was.
func (s *Store) Load() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil, s.failed
	}
	return bytes.Clone(s.state), nil
}

// Save replaces the state and returns when that is durable.
func (s *Store) Save(state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.file != nil {
		if err := s.write(state); err != nil {
			s.failed = explain(s.path, fmt.Errorf("save (nothing more is saved, as this may be in the file or not): %w", err))
		}
	}
	s.state = bytes.Clone(state)
	return s.failed
}

func (s *Store) write(state []byte) error {
	if len(state) > MaxState {
		return ErrTooLarge
	}
	s.number++
	slot := int64(s.number%2) * slotSize
	if _, err := s.file.WriteAt(seal(s.number, state), slot+headSize); err != nil {
		return err
	}
	if err := s.flush(s.file); err != nil {
		return err
	}
	// Another error says nothing of the file: the process may have given up its rights.
	now, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !os.SameFile(now, s.made) {
		return ErrGone
	}
	_, err = s.file.WriteAt(seal(s.number, nil), slotSize-slot)
	return err
}

// Close lets go of the file. Closing again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file, s.failed = nil, ErrClosed
	return err
}
