package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The checks below follow OpenSSH (see StrictModes in sshd_config): a file must belong to root or to the user of this
// process, and no other user may be able to change it. They check the open file and not its path, so a link cannot be
// replaced between the check and the read. They do not check the parent folders: if another user replaces the file
// through one of them, the new file belongs to that user, and the check of the owner rejects it. On a system other
// than Unix, the checks accept every file.

// AccessError reports that another user can read or change a file, and how to prevent that.
type AccessError struct{ Found, Want, Remedy string }

func (e *AccessError) Error() string { return e.Found + ", want " + e.Want + ": " + e.Remedy }

// CheckIntegrity returns an [*AccessError] if an open file belongs to a user other than root and the user of this
// process, or if its group or others can write it.
func CheckIntegrity(file *os.File) error { return checkFile(file, checkIntegrity) }

// CheckSecrecy is like [CheckIntegrity], and also rejects a file that its group or others can read. The group may
// read a file of root if this process runs as another user: a container mounts a secret in this way.
func CheckSecrecy(file *os.File) error { return checkFile(file, checkSecrecy) }

// CheckUserIntegrity is like [CheckIntegrity], but lets the group write if it has the number of this user. By
// convention, that group has no other member, and a umask of 002 goes with it.
func CheckUserIntegrity(file *os.File) error {
	return checkFile(file, func(path string, info fs.FileInfo) error { return checkShared(path, info, nil) })
}

// CheckFolder is like [CheckUserIntegrity], for a folder in which this process writes. If the folder belongs to root
// and this process runs as another user, the group may write: a container mounts a volume in this way.
func CheckFolder(dir string) error {
	folder, err := os.OpenFile(dir, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	return checkFile(folder, func(path string, info fs.FileInfo) error { return checkShared(path, info, info) })
}

// CheckInFolder is like [CheckFolder], for an open file. The group may write if CheckFolder accepts that for the
// folder of the file.
func CheckInFolder(file *os.File) error {
	return checkFile(file, func(path string, info fs.FileInfo) error {
		folder, err := os.Stat(filepath.Dir(path))
		if err != nil {
			return err
		}
		return checkShared(path, info, folder)
	})
}

func checkFile(file *os.File, check func(path string, info fs.FileInfo) error) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return check(file.Name(), info)
}

// Read returns the first limit bytes of a regular file that check accepts. It does not wait for a writer of a FIFO.
// Its error is an [*fs.PathError].
func Read(path string, check func(*os.File) error, limit int64) ([]byte, error) {
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	err = check(file)
	if _, hasPath := errors.AsType[*fs.PathError](err); err != nil && !hasPath {
		err = &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// openRegular opens a file, and rejects a FIFO, a device and a folder: reading them may block forever. Its error is
// an [*fs.PathError].
func openRegular(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is " + describe(info.Mode()) + ", want a regular file")}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func describe(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
