package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/elect-go/elect/internal/disk"
)

// Why a store refuses to open or to go on.
var (
	// ErrLocked says that another store, of this process or of another, has the file.
	ErrLocked = disk.ErrLocked
	// ErrGone says that the open file is not the one in the folder any more, so that
	// the next start would not find what is saved.
	ErrGone = errors.New("removed or replaced while it was in use")
	// ErrTooLarge says that a state has more than MaxState bytes.
	ErrTooLarge = errors.New("too large")
	// ErrNewerVersion says that the file is of a format that this version does not
	// know, ErrOlderForm that it is from before the first format.
	ErrNewerVersion = errors.New("written by a newer version")
	ErrOlderForm    = errors.New("a bbolt file, the form of before format 1")
	// ErrDamaged says that the file does not hold what was saved.
	ErrDamaged = errors.New("damaged")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store: closed")
)

// lastOlder is the last commit that reads what is ErrOlderForm.
const lastOlder = "7c04cc3"

var helps = []struct {
	against error
	help    string
}{
	{ErrLocked, ": one data folder serves one node"},
	{ErrGone, "; put it back, or the node starts as a new member"},
	{ErrNewerVersion, ": run the version that wrote it, or name another data folder"},
	{ErrOlderForm, ", which commit " + lastOlder + " is the last to read: with that one have the node leave its cluster, " +
		"then move the file away, and it joins as a new member"},
	{ErrDamaged, "; move it away, and the node starts as a new member"},
	{syscall.ENOSPC, "; make room on its disk"},
	{syscall.EDQUOT, "; make room on its disk"},
	{fs.ErrPermission, "; let the user of this process write there, or name another data folder"},
	{syscall.EROFS, "; let the user of this process write there, or name another data folder"},
	{syscall.ENOTDIR, "; name a folder as the data folder"},
	{syscall.EISDIR, "; move it away, or name another data folder"},
}

// explain adds to an error which file it is about and what helps.
func explain(path string, err error) error {
	for _, h := range helps {
		if errors.Is(err, h.against) {
			return fmt.Errorf("store: %s: %w%s", path, err, h.help)
		}
	}
	return fmt.Errorf("store: %s: %w", path, err)
}
