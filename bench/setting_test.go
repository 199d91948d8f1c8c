package bench

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/proccluster"
)

// benchstat accepts the lines as configuration: a key in lower case without spaces, a colon, and a
// value.
func TestSettingLinesAreConfiguration(t *testing.T) {
	lines := strings.Split(settingLines(proccluster.Config{Dir: t.TempDir()}), "\n")
	require.Empty(t, lines[len(lines)-1], "the last line ends too")
	lines = lines[:len(lines)-1]
	require.Regexp(t, "^# load average ", lines[0])
	form := regexp.MustCompile(`^[a-z][^\sA-Z]*: \S.*$`)
	var keys []string
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, "# the data directories are in memory") {
			continue
		}
		require.Regexp(t, form, line)
		key, _, _ := strings.Cut(line, ":")
		keys = append(keys, key)
	}
	require.Equal(t, []string{"cores", "kernel", "go", "file-system", "nodes", "clock", "seed"}, keys)
}
