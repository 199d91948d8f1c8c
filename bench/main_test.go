package bench

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/internal/testkit"
)

var (
	roundsFlag     = flag.Int("rounds", 30, "failovers per case that end in milliseconds, at least; -benchtime may ask for more")
	slowRoundsFlag = flag.Int("slow-rounds", 30, "failovers per case that wait for a timeout, and cold starts, at least")
	observedFlag   = flag.Int("observed", 10, "further failovers per case of -rounds during which an outside observer asks")
	seedFlag       = flag.Uint64("seed", 1, "of the random moments at which signals come")
	dataFlag       = flag.String("data", "", "`folder` on a disk for the data directories (default the first of TMPDIR, the user's cache folder and this one that is not in memory)")
	procsFlag      = flag.Int("procs", 0, "GOMAXPROCS of each node (default the command's own: 1)")
)

func TestMain(m *testing.M) {
	if threads := os.Getenv(spinEnv); threads != "" {
		spin(threads)
		return
	}
	testkit.AtOnce(8) // most of these tests wait for processes
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		folders.remove()
		os.Exit(130) // the nodes end with this process
	}()
	status := m.Run()
	folders.remove()
	os.Exit(status)
}

// temporary contains folders that are removed at the end of the run, even if it is interrupted.
type temporary struct {
	mu  sync.Mutex
	all []string
}

var folders temporary

func (t *temporary) make(parent string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir, err := os.MkdirTemp(parent, "elect-bench-")
	if err == nil {
		t.all = append(t.all, dir)
	}
	return dir, err
}

func (t *temporary) remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, dir := range t.all {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	t.all = nil
}

// command returns the elect command, which the first call builds from this tree.
var command = sync.OnceValues(func() (string, error) { return build("cmd/elect") })

// build builds a program of this tree.
func build(program string) (string, error) {
	dir, err := folders.make("")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, path.Base(program))
	out, err := exec.Command("go", "build", "-o", file, "github.com/elect-go/elect/"+program).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
}

// dataDir returns a new folder on a disk for the data directories.
var dataDir = sync.OnceValues(func() (string, error) {
	if *dataFlag != "" {
		return folders.make(*dataFlag)
	}
	dir, err := hostinfo.DiskTempDir()
	if err != nil {
		return "", fmt.Errorf("%w: name one with -data", err)
	}
	return folders.make(dir)
})

// config returns the configuration of all clusters of this package.
func config(tb testing.TB) proccluster.Config {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skipf("real processes are measured on linux only, this is %s: their clock, signals and /proc", runtime.GOOS)
	}
	dir, err := dataDir()
	if err != nil {
		tb.Fatal(err)
	}
	elect, err := command()
	if err != nil {
		tb.Fatal(err)
	}
	c := proccluster.Config{Command: []string{elect}, Dir: dir}
	if *procsFlag > 0 {
		c.Env = []string{"GOMAXPROCS=" + strconv.Itoa(*procsFlag)}
	}
	return c
}

var printSetting sync.Once

// setting prints the setting of all benchmarks of a run once, as configuration for benchstat.
func setting(b *testing.B) proccluster.Config {
	b.Helper()
	c := config(b)
	printSetting.Do(func() { fmt.Print(settingLines(c)) })
	return c
}

func settingLines(c proccluster.Config) string {
	procs := "1, the command's own choice"
	if *procsFlag > 0 {
		procs = strconv.Itoa(*procsFlag)
	}
	t := algo.LAN()
	return configuration(c.Dir,
		fmt.Sprintf("nodes: a process each, GOMAXPROCS %s, preset lan (heartbeat %v, timeout %v, round trip %v), loopback",
			procs, t.Heartbeat, t.Timeout, t.RoundTrip),
		"clock: "+proccluster.Clock)
}

// configuration returns the lines of elect bench about the machine that go test does not print, and
// the given lines. The load is a comment: it differs between runs, and benchstat would not compare them.
func configuration(dir string, more ...string) string {
	m := hostinfo.Describe()
	m.FileSystem = hostinfo.FileSystem(dir)
	lines := []string{"# load average " + m.Load}
	if hostinfo.InMemory(m.FileSystem) {
		lines = append(lines, "# the data directories are in memory: saves cost nothing here")
	}
	for _, c := range result.Config(m) {
		if !slices.Contains([]string{"goos", "goarch", "cpu"}, c.Key) {
			lines = append(lines, fmt.Sprintf("%s: %s", c.Key, c.Value))
		}
	}
	lines = append(lines, more...)
	return strings.Join(append(lines, fmt.Sprintf("seed: %d\n", *seedFlag)), "\n")
}

// moments returns a function that draws the pause before a signal, within two heartbeat intervals.
func moments() func() time.Duration {
	r := rand.New(rand.NewPCG(*seedFlag, 0))
	return func() time.Duration { return time.Duration(r.Int64N(int64(2 * algo.LAN().Heartbeat))) }
}

// within returns a context with a deadline that suffices on any machine.
func within(tb testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeoutCause(tb.Context(), d, fmt.Errorf("not done after %v", d))
	tb.Cleanup(cancel)
	return ctx
}

// repeat runs round as often as -benchtime requires, and at least least times. It does not report the
// time of an iteration, which includes pauses and restarts.
func repeat(b *testing.B, least int, round func()) {
	b.Helper()
	for b.Loop() {
		round()
	}
	for ; b.N < least; b.N++ {
		round()
	}
	b.ReportMetric(0, "ns/op")
}

// newMeasuring returns a measuring as elect bench uses it, with config for its processes.
func newMeasuring(config proccluster.Config) *measuring {
	return &measuring{Options: Options{Seed: *seedFlag}, registry: builtin.Registry(), nodes: config}
}

// benchmark runs rounds of a subject as elect bench does and reports each metric, combined by sum. It
// skips a subject that this machine does not permit.
func (of subject) benchmark(b *testing.B, least int, sum func([]float64) float64) map[string][]float64 {
	b.Helper()
	check := func(err error) {
		b.Helper()
		if notHere(err) {
			b.Skip(err)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	running, err := of.start(within(b, 2*time.Minute))
	check(err)
	defer func() {
		if running.stop == nil {
			return
		}
		if err := running.stop(); err != nil {
			b.Error(err)
		}
	}()
	columns, seed := make(map[string][]float64), *seedFlag
	repeat(b, least, func() {
		values, err := running.round(within(b, 4*time.Minute), seed)
		check(err)
		for metric, value := range values {
			columns[metric] = append(columns[metric], value)
		}
		seed++
	})
	for metric, values := range columns {
		b.ReportMetric(sum(values), metric)
	}
	return columns
}

func median(values []float64) float64 { return stats.Summarize(values).Median }

// reporter receives the figures of a benchmark, such as *testing.B.
type reporter interface{ ReportMetric(n float64, unit string) }

// reportMS reports a summary in ms to r.
func reportMS(r reporter, s stats.Summary) {
	r.ReportMetric(s.Min, "min-ms")
	r.ReportMetric(s.Median, "p50-ms")
	r.ReportMetric(s.P90, "p90-ms")
	r.ReportMetric(s.Max, "max-ms")
}

// inWords formats a summary in ms.
func inWords(s stats.Summary) string {
	if s.Trials == 0 {
		return "none"
	}
	return fmt.Sprintf("min %.2f, median %.2f, p90 %.2f, max %.2f ms of %d", s.Min, s.Median, s.P90, s.Max, s.Trials)
}

type reported map[string]float64

func (r reported) ReportMetric(n float64, unit string) { r[unit] = n }

func TestSummaryIsReportedInMilliseconds(t *testing.T) {
	got := make(reported)
	reportMS(got, stats.Summary{Trials: 3, Min: 1, Median: 2, P90: 3, Max: 4})
	require.Equal(t, reported{"min-ms": 1, "p50-ms": 2, "p90-ms": 3, "max-ms": 4}, got)
	require.Equal(t, "none", inWords(stats.Summary{}))
	require.Equal(t, "min 1.00, median 2.00, p90 3.25, max 4.00 ms of 3", inWords(stats.Summary{Trials: 3, Min: 1, Median: 2, P90: 3.25, Max: 4}))
}
