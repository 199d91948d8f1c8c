package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/elect-go/elect/internal/disk"
)

// Why a store cannot be opened or used any more.
var (
	// ErrLocked reports that another store, in this process or another one, has opened the file.
	ErrLocked = disk.ErrLocked
	// ErrReplaced reports that the open file is no longer the one in the folder, so the next start would not find the
	// saved state.
	ErrReplaced = errors.New("removed or replaced while it was in use")
	// ErrTooLarge reports that a state has more than MaxState bytes.
	ErrTooLarge = errors.New("too large")
	// ErrNewerVersion reports that this version does not know the format of the file. ErrOldFormat reports that the
	// file is older than format 1.
	ErrNewerVersion = errors.New("written by a newer version")
	ErrOldFormat    = errors.New("a bbolt file, from before format 1")
	// ErrDamaged reports that the file does not hold what was saved.
	ErrDamaged = errors.New("damaged")
	// ErrClosed reports that the store was closed.
	ErrClosed = errors.New("store: closed")
)

// lastOldCommit is the last commit that reads a file for which Open returns ErrOldFormat.
const lastOldCommit = "7c04cc3"

var hints = []struct {
	against error
	help    string
}{
	{ErrLocked, ": one data directory serves one node"},
	{ErrReplaced, "; put it back, or the node starts as a new member"},
	{ErrNewerVersion, ": run the version that wrote it, or name another data directory"},
	{ErrOldFormat, ", which commit " + lastOldCommit + " is the last to read: with that one have the node leave its cluster, " +
		"then move the file away, and it joins as a new member"},
	{ErrDamaged, "; move it away, and the node starts as a new member"},
	{syscall.ENOSPC, "; make room on its disk"},
	{syscall.EDQUOT, "; make room on its disk"},
	{fs.ErrPermission, "; let the user of this process write there, or name another data directory"},
	{syscall.EROFS, "; let the user of this process write there, or name another data directory"},
	{syscall.ENOTDIR, "; name a folder as the data directory"},
	{syscall.EISDIR, "; move it away, or name another data directory"},
}

// explain adds the path of the file and a remedy to an error.
func explain(path string, err error) error {
	for _, hint := range hints {
		if errors.Is(err, hint.against) {
			return fmt.Errorf("store: %s: %w%s", path, err, hint.help)
		}
	}
	return fmt.Errorf("store: %s: %w", path, err)
}
