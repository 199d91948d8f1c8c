//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAccessByOwnerAndMode(t *testing.T) {
	const self, other, group = 1000, 1001, 100
	for _, test := range []struct {
		name                       string
		uid, gid, self             int
		mode                       fs.FileMode
		integrity, secrecy, shared bool
	}{
		{"own, for the owner", self, group, self, 0o600, true, true, true},
		{"own, readable for all", self, group, self, 0o644, true, false, true},
		{"own, readable for the group", self, group, self, 0o640, true, false, true},
		{"own, writable for the group", self, group, self, 0o664, false, false, false},
		{"own, writable for the group of the user", self, self, self, 0o664, false, false, true},
		{"own, writable for others", self, self, self, 0o602, false, false, false},
		{"of root, for the owner", 0, 0, self, 0o600, true, true, true},
		{"of root, readable for the group", 0, group, self, 0o440, true, true, true},
		{"of root, readable for all", 0, group, self, 0o444, true, false, true},
		{"of root, writable for the group", 0, group, self, 0o660, false, false, false},
		{"of another user, for the owner", other, group, self, 0o600, false, false, false},
		{"of another user, readable for all", other, self, self, 0o444, false, false, false},
		{"root: of root", 0, 0, 0, 0o600, true, true, true},
		{"root: of root, readable for the group", 0, group, 0, 0o440, true, false, true},
		{"root: of root, writable for the group", 0, 0, 0, 0o664, false, false, false},
		{"root: of another user, for the owner", other, group, 0, 0o600, false, false, false},
	} {
		a := access{"FILE", test.uid, test.gid, test.mode, test.self}
		for name, check := range map[string]struct {
			got  error
			want bool
		}{
			"integrity": {a.checkIntegrity(), test.integrity}, "secrecy": {a.checkSecrecy(), test.secrecy}, "shared": {a.checkShared(nil), test.shared},
		} {
			if (check.got == nil) != check.want {
				t.Errorf("%s: %s is %v, want accepted: %v", test.name, name, check.got, check.want)
			}
		}
	}
}

// A mounted volume belongs to root and to a group of the process. This group can write.
func TestMountedFolderIsWrittenByGroup(t *testing.T) {
	const self, group = 1000, 2000
	volume := access{"DIR", 0, group, 0o775, self}
	for _, test := range []struct {
		name         string
		file, folder access
		want         bool
	}{
		{"volume", volume, volume, true},
		{"file in the volume", access{"FILE", self, group, 0o660, self}, volume, true},
		{"file of another group", access{"FILE", self, 100, 0o660, self}, volume, false},
		{"file writable for others", access{"FILE", self, group, 0o666, self}, volume, false},
		{"file in an own folder", access{"FILE", self, group, 0o660, self}, access{"DIR", self, group, 0o700, self}, false},
		{"volume of root for root", access{"DIR", 0, group, 0o775, 0}, access{"DIR", 0, group, 0o775, 0}, false},
		{"volume writable for all", access{"DIR", 0, group, 0o777, self}, access{"DIR", 0, group, 0o777, self}, false},
	} {
		if err := test.file.checkShared(&test.folder); (err == nil) != test.want {
			t.Errorf("%s: %v, want accepted: %v", test.name, err, test.want)
		}
	}
}

func TestAccessErrorNamesFoundWantedAndCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("some"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		mode  fs.FileMode
		check func(*os.File) error
		want  string
	}{
		{0o600, CheckSecrecy, ""},
		{0o644, CheckIntegrity, ""},
		{0o644, CheckSecrecy, "other users can read or change it (mode 0644), want mode 0600: chmod 600 " + path},
		{0o646, CheckIntegrity, "other users can change it (mode 0646), want no write permission for group and others: chmod go-w " + path},
		{0o646, CheckUserIntegrity, "other users can change it (mode 0646), want no write permission for group and others: chmod go-w " + path},
	} {
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		text, err := Read(path, test.check, 3)
		if test.want == "" {
			if err != nil || string(text) != "som" {
				t.Errorf("Read with mode %o: %q, %v, want the first 3 bytes", test.mode, text, err)
			}
			continue
		}
		if want := "open " + path + ": " + test.want; err == nil || err.Error() != want {
			t.Errorf("Read with mode %o: %v, want %s", test.mode, err, want)
		}
		if _, ok := errors.AsType[*AccessError](err); !ok {
			t.Errorf("Read with mode %o: %T, want an AccessError", test.mode, errors.Unwrap(err))
		}
	}
	if os.Geteuid() != 0 {
		return // only root can change the owner of a file
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.Chown(path, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	_, err := Read(path, CheckIntegrity, 3)
	if want := "open " + path + ": it belongs to user 65534, want root: chown root " + path; err == nil || err.Error() != want {
		t.Errorf("Read of a file of another user: %v, want %s", err, want)
	}
}
