//go:build unix

package disk

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	groupRead      fs.FileMode = 0o040
	groupWrite     fs.FileMode = 0o020
	otherWrite     fs.FileMode = 0o002
	anyAccess      fs.FileMode = 0o077 // for group and others
	readPermission fs.FileMode = 0o044
)

// access is the owner and the mode of a file.
type access struct {
	path     string
	uid, gid int
	mode     fs.FileMode
	self     int // user of this process
}

func accessOf(path string, info fs.FileInfo) access {
	a := access{path: path, mode: info.Mode().Perm(), self: os.Geteuid()}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		a.uid, a.gid = int(owner.Uid), int(owner.Gid)
	}
	return a
}

func checkIntegrity(path string, info fs.FileInfo) error {
	return accessOf(path, info).checkIntegrity()
}
func checkSecrecy(path string, info fs.FileInfo) error { return accessOf(path, info).checkSecrecy() }

func checkShared(path string, info, folder fs.FileInfo) error {
	if folder == nil {
		return accessOf(path, info).checkShared(nil)
	}
	above := accessOf(path, folder)
	return accessOf(path, info).checkShared(&above)
}

func (a access) checkIntegrity() error { return a.check(groupWrite | otherWrite) }

func (a access) checkSecrecy() error {
	denied := anyAccess
	if a.isMounted() {
		denied &^= groupRead
	}
	return a.check(denied)
}

// checkShared lets a group write that has the number of this user, or that root has given to the folder.
func (a access) checkShared(folder *access) error {
	ownGroup := a.self != 0 && a.gid == a.self
	if ownGroup || folder != nil && folder.isMounted() && folder.gid == a.gid {
		return a.check(otherWrite)
	}
	return a.checkIntegrity()
}

// isMounted reports whether root has prepared the file for a process of another user.
func (a access) isMounted() bool { return a.uid == 0 && a.self != 0 }

// check returns an error if the owner is wrong, or if the mode permits what is denied.
func (a access) check(denied fs.FileMode) error {
	mode := fmt.Sprintf("(mode %04o)", a.mode)
	switch {
	case a.uid != 0 && a.uid != a.self:
		e := &AccessError{fmt.Sprintf("it belongs to user %d", a.uid), "root", "chown root " + a.path}
		if a.self != 0 {
			e.Want, e.Remedy = fmt.Sprintf("root or user %d", a.self), fmt.Sprintf("chown %d %s", a.self, a.path)
		}
		return e
	case a.mode&denied == 0:
		return nil
	case denied&readPermission != 0:
		return &AccessError{"other users can read or change it " + mode, "mode 0600", "chmod 600 " + a.path}
	}
	return &AccessError{"other users can change it " + mode, "no write permission for group and others", "chmod go-w " + a.path}
}
