package hostinfo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileSystemComesFromLongestMount(t *testing.T) {
	const mounts = `24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,size=12334492k
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
31 27 0:27 / /tmp rw,relatime shared:7 master:2 - tmpfs tmpfs rw
32 27 0:28 / /with\040space rw,relatime - xfs /dev/vdb rw
33 27 0:29 / /home rw - btrfs /dev/vdc rw
34 27 0:30 / /home rw - zfs pool rw
not a mount
`
	for path, want := range map[string]string{
		"/":                "ext4",
		"/var/lib":         "ext4",
		"/tmp":             "tmpfs",
		"/tmp/a/b":         "tmpfs",
		"/tmpfiles":        "ext4",
		"/with space/data": "xfs",
		"/home/user":       "zfs", // mounted over the other
		"/dev/null":        "devtmpfs",
	} {
		require.Equal(t, want, fileSystem(strings.NewReader(mounts), path), path)
	}
	require.Equal(t, "unknown", fileSystem(strings.NewReader(""), "/"))
}

func TestInMemory(t *testing.T) {
	for kind, want := range map[string]bool{"tmpfs": true, "ramfs": true, "ext4": false, "unknown": false} {
		require.Equal(t, want, InMemory(kind), kind)
	}
}

func TestField(t *testing.T) {
	const text = "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz: fast\nmodel name\t: another\n"
	got, ok := Field(strings.NewReader(text), "model name")
	require.True(t, ok)
	require.Equal(t, "Some CPU @ 3 GHz: fast", got)
	_, ok = Field(strings.NewReader(text), "model")
	require.False(t, ok)
}

func TestMachineDescriptionIsPrintable(t *testing.T) {
	m := Machine{System: "linux/amd64", Cores: 2, Model: "x\x1b[2J", Kernel: "6", Go: "go1.26", Load: "1 1 1"}
	require.Equal(t, "linux/amd64, 2 cores (x\uFFFD[2J), kernel 6, go1.26, load average 1 1 1", m.String())
}
