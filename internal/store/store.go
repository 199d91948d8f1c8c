// Package store keeps what a node must not forget over a crash: a few small
// records, bytes under a name. It knows nothing of what they mean.
//
// [Bolt] keeps them in one bbolt file of a folder, [Memory] in memory. When Save
// returns, its records survive the process and the machine; a crash during Save
// leaves all of its records or none. What is read back is checked against a
// seal, so a file that is damaged, or whose disk lost a write, is refused and
// never taken for an older or an empty state: a node that forgets a vote elects
// two leaders.
package store

import "errors"

// Record is a piece of state under its name. Key must not be empty.
type Record struct {
	Key   string
	Value []byte
}

// Store is what a node keeps across a crash. Its duties:
//
//   - Save is one transaction, and durable when it returns: all of its records
//     replace those of the same keys, or none does. A record is kept until it is
//     replaced. The values are not kept nor changed after the call.
//   - A Save that failed may have happened or not, so the store has failed for
//     good: every later Load and Save returns the first error. The node must stop.
//   - Load returns every record that was saved, in a map that is the caller's.
//   - Close ends the use of the store. Save after it returns ErrClosed.
//
// Its methods may be called at the same time.
type Store interface {
	Load() (map[string][]byte, error)
	Save(records ...Record) error
	Close() error
}

// Why a store refuses to open or to go on. The errors that wrap these name the
// file and say what helps.
var (
	// ErrLocked says that another store, of this process or of another, has the
	// file open.
	ErrLocked = errors.New("in use by another process: one data folder serves one node")
	// ErrNewerVersion says that the file was written in a format that this version
	// does not know.
	ErrNewerVersion = errors.New("written by a newer version")
	// ErrDamaged says that the file does not hold what was saved.
	ErrDamaged = errors.New("damaged")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store: closed")
)

var errNoKey = errors.New("store: a record has no key")

// checkKeys refuses what could not be told from other records when it is loaded.
func checkKeys(records []Record) error {
	for _, r := range records {
		if r.Key == "" {
			return errNoKey
		}
	}
	return nil
}
