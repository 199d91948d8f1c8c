package cli

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/elect-go/elect/internal/testkit"
)

// terminal opens a terminal without a size, like a terminal without a window.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	testkit.OnlyLong(t)
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	testkit.Need(t, err == nil, fmt.Sprintf("a terminal: %v", err))
	t.Cleanup(func() { ours.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	testkit.Need(t, err == nil, fmt.Sprintf("a terminal: %v", err))
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

func TestTerminalWithoutSizeHasUsualWidth(t *testing.T) {
	ours, theirs := terminal(t)
	t.Setenv("TERM", "xterm")
	_, says := terminalWidth(theirs)
	require.False(t, says)
	require.Zero(t, widthOf(theirs, 0), "a diagram is as wide as in a pipe")
	line := newProgressLine(theirs)
	require.Equal(t, defaultWidth, line.width())
	line.say("half is done")
	text := make([]byte, 100)
	n, err := ours.Read(text)
	require.NoError(t, err)
	require.Equal(t, "\rhalf is done\x1b[K", string(text[:n]))

	require.NoError(t, unix.IoctlSetWinsize(int(theirs.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 132}))
	require.Equal(t, 132, line.width())
	require.Equal(t, 132, widthOf(theirs, 0))

	t.Setenv("TERM", "dumb")
	dumb := newProgressLine(theirs)
	require.False(t, dumb.inPlace())
	require.Equal(t, 132, widthOf(theirs, 0), "it has its width all the same")
}
