package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// FileName is the file that [Open] keeps in its folder.
const FileName = "elect.db"

// room is the size of the file from its first moment. Every page of it is written
// once when the file is made, so a save neither grows the file nor asks the file
// system for a block: that would cost a write of its journal on the critical path,
// and could fail for want of space. It is enough for views of a few hundred
// members; what needs more grows the file then.
const room = 256 << 10

// Options are the settings of [Open]. The zero value is ready to use.
type Options struct {
	// LockTimeout is how long Open waits for another process to let go of the file;
	// zero means 200 ms, enough for a process that is just ending. A file that is
	// held longer is refused with ErrLocked.
	LockTimeout time.Duration
}

// Bolt is a [Store] in one bbolt file. A Save costs two syncs of the file.
type Bolt struct {
	mu      sync.Mutex
	path    string
	db      *bolt.DB
	digests digests
	failed  error // what every Load and Save returns, or nil
}

var _ Store = (*Bolt)(nil)

// Open opens the store of the folder dir, and makes both if they do not exist:
// the folder with mode 0700, and the file [FileName] in it with 0600. The file
// appears in the folder when it is complete, so a crash on the way leaves none; an
// empty file, or one that is cut short, is damaged and not new.
//
// Its errors name the file and what helps. They wrap ErrLocked, ErrNewerVersion,
// ErrDamaged, or what the operating system said.
func Open(dir string, o Options) (*Bolt, error) {
	if dir == "" {
		return nil, errors.New("store: no data folder is named")
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 200 * time.Millisecond
	}
	path := filepath.Join(dir, FileName)
	if err := makeFolder(dir); err != nil {
		return nil, explain(dir, "make the folder", err)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := create(dir, path); err != nil {
			return nil, explain(path, "make the file", err)
		}
	case err != nil:
		return nil, explain(path, "open", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("store: %s is not a regular file: move it away, or name another data folder", path)
	}
	// Also when the file was there: a process that made it may have been killed just
	// before this, and a file whose name is not durable can vanish with all that was
	// saved in it.
	if err := syncFolder(dir); err != nil {
		return nil, explain(dir, "sync the folder", err)
	}
	d, err := check(path, o)
	if err != nil {
		return nil, explain(path, "open", err)
	}
	db, err := openBolt(path, o, false)
	if err != nil {
		return nil, explain(path, "open", err)
	}
	removeLeftovers(dir)
	return &Bolt{path: path, db: db, digests: d}, nil
}

// check reads the file before it is opened to write. It holds a shared lock
// meanwhile, or it could meet the middle of another process's save. Whoever opens
// the file between this and the next lock has checked it just the same.
func check(path string, o Options) (digests, error) {
	info, err := os.Stat(path)
	if err != nil {
		return digests{}, err
	}
	if info.Size() < room {
		return digests{}, damaged(fmt.Errorf("it has %d bytes, and had at least %d when it was made", info.Size(), room))
	}
	lock, err := openBolt(path, o, true)
	if err != nil {
		return digests{}, err
	}
	defer lock.Close()
	file, err := os.Open(path)
	if err != nil {
		return digests{}, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return digests{}, err
	}
	c, err := inspect(file, info.Size())
	if err != nil {
		return digests{}, damaged(err)
	}
	d, err := unseal(c)
	if err != nil && !errors.Is(err, ErrNewerVersion) {
		return digests{}, damaged(err)
	}
	return d, err
}

// openBolt has bbolt open and lock the file: shared with others to read, alone to
// write.
func openBolt(path string, o Options, readOnly bool) (db *bolt.DB, err error) {
	var file *os.File
	// A disk that fails to read answers through the memory map, as a fault.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			file.Close()
			db, err = nil, damaged(fmt.Errorf("bbolt gives up on it: %v", p))
		}
	}()
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout:  o.LockTimeout,
		ReadOnly: readOnly,
		PageSize: pageSize,
		// The map never moves while the file has its first size, and no list of free
		// pages is written: it is made anew, from a few pages, when the file is opened.
		InitialMmapSize: room,
		NoFreelistSync:  true,
		FreelistType:    bolt.FreelistMapType,
		NoStatistics:    true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, damaged(err)
	}
	return db, err
}

// Load returns every record that was saved.
func (b *Bolt) Load() (map[string][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return nil, b.failed
	}
	records := map[string][]byte{}
	err := b.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(recordsBucket).ForEach(func(key, value []byte) error {
			records[string(key)] = bytes.Clone(value)
			return nil
		})
	})
	if err != nil {
		return nil, explain(b.path, "load", err)
	}
	return records, nil
}

// Save replaces the records of those keys and returns when that is durable.
func (b *Bolt) Save(records ...Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil || len(records) == 0 {
		return b.failed
	}
	if err := b.save(records); err != nil {
		b.failed = explain(b.path, "save (nothing more is saved, as this may be in the file or not)", err)
	}
	return b.failed
}

func (b *Bolt) save(records []Record) error {
	if err := checkKeys(records); err != nil {
		return err
	}
	tx, err := b.db.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	bucket := tx.Bucket(recordsBucket)
	for _, r := range records {
		if err := bucket.Put([]byte(r.Key), r.Value); err != nil {
			return err
		}
		b.digests.replace(r.Key, r.Value)
	}
	if err := tx.Bucket(metaBucket).Put(sealKey, seal(uint64(tx.ID()), b.digests)); err != nil {
		return err
	}
	return tx.Commit()
}

// Close lets go of the file. Closing again does nothing.
func (b *Bolt) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = ErrClosed
	}
	if err := b.db.Close(); err != nil {
		return explain(b.path, "close", err)
	}
	return nil
}

// damaged says that the file is, unless it could not be read at all: that is the
// word of the operating system, and the file may be whole.
func damaged(why error) error {
	var system syscall.Errno
	if errors.As(why, &system) {
		return why
	}
	return fmt.Errorf("%w: %w", ErrDamaged, why)
}

// explain adds to an error which file it is about and what helps.
func explain(path, what string, err error) error {
	switch {
	case errors.Is(err, ErrLocked):
		return fmt.Errorf("store: %s is %w", path, err)
	case errors.Is(err, ErrNewerVersion):
		return fmt.Errorf("store: %s was %w: run the version that wrote it, or name another data folder", path, err)
	case errors.Is(err, ErrDamaged):
		return fmt.Errorf("store: %s is %w; move it away, and the node starts as a new member", path, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("store: %s: %s: %w; make room on its disk", path, what, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("store: %s: %s: %w; let the user of this process write there, or name another data folder", path, what, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("store: %s: %s: %w; name a folder as the data folder", path, what, err)
	default:
		return fmt.Errorf("store: %s: %s: %w", path, what, err)
	}
}
