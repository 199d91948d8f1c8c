package bench

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestResidentOf(t *testing.T) {
	for _, c := range []struct {
		name, text, wrong string
		want              int64
	}{
		{name: "a process", text: "55a5888f2000-7ffed6889000 ---p 00000000 00:00 0    [rollup]\nRss:                1672 kB\nPss:                 335 kB\n", want: 1672 << 10},
		{name: "a kernel thread", text: "", wrong: "no line Rss"},
		{name: "another unit", text: "Rss: 3 MB\n", wrong: `"3 MB"`},
		{name: "no number", text: "Rss: many kB\n", wrong: `"many kB"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := residentOf(strings.NewReader(c.text))
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestReadUsageCountsWhatIsUsed(t *testing.T) {
	if runtime.GOOS != "linux" {
		_, err := ReadUsage(os.Getpid())
		require.Error(t, err)
		t.Skip("what a process has used is known on linux only")
	}
	before, err := ReadUsage(os.Getpid())
	require.NoError(t, err)
	touched := make([]byte, 64<<20)
	for i := range touched {
		touched[i] = 1
	}
	after, err := ReadUsage(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after.CPU, before.CPU)
	require.Less(t, after.CPU, time.Hour)
	require.GreaterOrEqual(t, after.Resident, int64(len(touched)))
	runtime.KeepAlive(touched)
}

func TestReadUsageOfNobody(t *testing.T) {
	_, err := ReadUsage(1<<22 + 1) // above what Linux gives out
	require.ErrorContains(t, err, "process 4194305")
}
