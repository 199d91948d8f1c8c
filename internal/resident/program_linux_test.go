package resident

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Release unmaps only pages of the program that the system can read again from its file.
func TestOnlyUnchangedPagesAreUnmapped(t *testing.T) {
	mapping := func(start int, permissions, file, anonymous, swap string) string {
		return strconv.FormatInt(int64(start), 16) + "-" + strconv.FormatInt(int64(start)+0x1000, 16) + " " + permissions +
			" 00000000 fe:00 247026                     " + file + "\nRss:                   4 kB\nAnonymous:             " +
			anonymous + " kB\nAnonHugePages:         0 kB\nSwap:                  " + swap + " kB\nVmFlags: rd mr mw me \n"
	}
	const elect = "/opt/fleet tools/elect"
	smaps := mapping(0x1000, "r--p", elect, "0", "0") +
		mapping(0x2000, "r-xp", elect, "0", "0") +
		mapping(0x3000, "r--p", elect, "16", "0") + // the loader has changed it
		mapping(0x4000, "r-xp", elect, "0", "4") + // a changed page is swapped out
		mapping(0x5000, "rw-p", elect, "0", "0") + // may be written at any time
		mapping(0x6000, "r-xp", "/usr/lib/libc.so.6", "0", "0") +
		mapping(0x7000, "r-xp", "", "0", "0")
	require.Equal(t, []memoryRange{{0x1000, 0x2000}, {0x2000, 0x3000}}, unchanged(smaps, elect))
	require.Empty(t, unchanged("", elect))
	require.Empty(t, unchanged("no-range r-xp 0 0 0 "+elect+"\nAnonymous: 0 kB\nSwap: 0 kB\n", elect))
}

// The program continues after its pages are unmapped, and maps fewer of them.
func TestReleaseUnmapsProgram(t *testing.T) {
	before := mappedFiles(t)
	Release()
	after := mappedFiles(t)
	require.Less(t, after, before)
}

// mappedFiles returns the size of the pages of files that this process maps, in KiB.
func mappedFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "RssFile:")
	require.True(t, found, "%s", status)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kib
}
