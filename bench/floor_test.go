package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/internal/testkit"
)

// bareCommand returns the program of the floor, which the first call builds from this tree.
var bareCommand = sync.OnceValues(func() (string, error) { return build("internal/bench/bare") })

// floorRound is a kill of bare processes. It shows the cost of a failover on this machine without detector, algorithm,
// store and memory. The times begin right before the signal.
type floorRound struct {
	Seen    time.Duration // until the last process has seen the end
	Refused time.Duration // until the next leader has a refused dial
	Floor   time.Duration // until the last process has the message of the next leader
	memory  memory        // of the killed process
}

// floorOf runs a round of the floor.
func floorOf(b *testing.B, nodes int) floorRound {
	b.Helper()
	program, err := bareCommand()
	if err != nil {
		b.Fatal(err)
	}
	r, err := measureFloor(within(b, time.Minute), program, nodes)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// bareProcess is a process of the program.
type bareProcess struct {
	cmd   *exec.Cmd
	input io.WriteCloser // its end ends the process
	lines *bufio.Reader
}

// restTime is the time before the signal in which all bare processes go to sleep.
const restTime = 20 * time.Millisecond

// measureFloor runs a round of one process per node, with a connection between each two.
func measureFloor(ctx context.Context, program string, nodes int) (r floorRound, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all []*bareProcess
	defer func() {
		cancel()
		for _, p := range all {
			_ = p.input.Close()
			_ = p.cmd.Wait() // killed
		}
	}()
	host := proccluster.Loopback(1)[0].Addr
	var addrs []string
	for i := range nodes {
		p, err := startBare(ctx, program, host, strconv.Itoa(i), strconv.Itoa(nodes))
		if err != nil {
			return r, err
		}
		all = append(all, p)
		addr, err := p.line(1)
		if err != nil {
			return r, err
		}
		addrs = append(addrs, addr[0])
	}
	for i, p := range all {
		if _, err := fmt.Fprintln(p.input, strings.Join(addrs[:i], " ")); err != nil {
			return r, fmt.Errorf("bench: floor: %w", err)
		}
	}
	for _, p := range all {
		if _, err := p.line(1); err != nil {
			return r, err
		}
	}
	if err := proccluster.Sleep(ctx, restTime); err != nil {
		return r, err
	}
	used, err := readUsage(all[0].cmd.Process.Pid)
	if err != nil {
		return r, err
	}
	r.memory = used.memory
	at := proccluster.Now()
	if err := all[0].cmd.Process.Kill(); err != nil {
		return r, fmt.Errorf("bench: floor: %w", err)
	}
	for _, p := range all[1:] {
		times, err := p.line(3)
		if err == nil {
			err = r.add(times, at)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// add adds the times that a process has printed. at is the time of the signal. The last process is the next leader.
func (r *floorRound) add(printed []string, at int64) error {
	var times [3]time.Duration
	for i, text := range printed {
		ns, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("bench: floor: %w", err)
		}
		times[i] = time.Duration(ns - at)
	}
	r.Seen, r.Refused, r.Floor = max(r.Seen, times[0]), times[1], max(r.Floor, times[2])
	return nil
}

func TestFloorEndsWithLastProcess(t *testing.T) {
	var r floorRound
	for _, line := range []string{"1300 1400 1700", "1200 1450 1800", "1100 1500 1500"} {
		require.NoError(t, r.add(strings.Fields(line), 1000))
	}
	require.Equal(t, floorRound{Seen: 300, Refused: 500, Floor: 800}, r)
	require.ErrorContains(t, r.add([]string{"1", "soon", "3"}, 0), `"soon"`)
}

// startBare starts a process, which ends at the latest with ctx.
func startBare(ctx context.Context, program string, args ...string) (*bareProcess, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(max(1, *procsFlag))) // as a node
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	return &bareProcess{cmd, input, bufio.NewReader(output)}, nil
}

// line reads a line with the given number of words.
func (p *bareProcess) line(words int) ([]string, error) {
	text, err := p.lines.ReadString('\n')
	if line := strings.Fields(text); err == nil && len(line) == words {
		return line, nil
	}
	return nil, errors.Join(fmt.Errorf("bench: floor: %s has written %q, want %d words", filepath.Base(p.cmd.Path), text, words), err)
}

// reportFloor reports the floor of a run, and the ratio of the failovers to it: with all their saves, and without the
// saves that they waited for.
func reportFloor(b reporter, failovers, saves []time.Duration, floors []floorRound) (text string) {
	var seen, refused, floor []time.Duration
	for _, r := range floors {
		seen, refused, floor = append(seen, r.Seen), append(refused, r.Refused), append(floor, r.Floor)
	}
	rest := make([]float64, len(failovers))
	for i := range failovers {
		rest[i] = stats.MS(failovers[i] - saves[i])
	}
	all, least := report.RatioOf(milliseconds(failovers), milliseconds(floor)), report.RatioOf(rest, milliseconds(floor))
	b.ReportMetric(stats.Milliseconds(floor).Median, "floor-ms")
	b.ReportMetric(all.Times, "ratio")
	b.ReportMetric(least.Times, "ratio-without-saves")
	return fmt.Sprintf("the floor, of bare processes in turn with these rounds (%.1f MiB anonymous, %.1f mapped): %v; all have seen the end: %v; a dial is refused: %v\n"+
		"the failover takes %v times the floor, and %v times without the saves that it waited for", mib(floors[0].memory.Anonymous), mib(floors[0].memory.Mapped),
		inWords(stats.Milliseconds(floor)), inWords(stats.Milliseconds(seen)), inWords(stats.Milliseconds(refused)), all, least)
}

func milliseconds(durations []time.Duration) (values []float64) {
	for _, d := range durations {
		values = append(values, stats.MS(d))
	}
	return values
}

func TestFloorIsReported(t *testing.T) {
	ms := func(values ...int) (all []time.Duration) {
		for _, v := range values {
			all = append(all, time.Duration(v)*time.Millisecond)
		}
		return all
	}
	got := make(reported)
	text := reportFloor(got, ms(6, 8, 10), ms(2, 2, 3), []floorRound{
		{Seen: time.Millisecond, Floor: 2 * time.Millisecond, memory: memory{Anonymous: 3 << 19}},
		{Seen: time.Millisecond, Floor: 4 * time.Millisecond}, {Seen: time.Millisecond, Floor: 4 * time.Millisecond},
	})
	require.Equal(t, reported{"floor-ms": 4, "ratio": 2, "ratio-without-saves": 1.5}, got)
	require.Contains(t, text, "(1.5 MiB anonymous, 0.0 mapped): min 2.00, median 4.00")
	require.Contains(t, text, "takes 2.00 times the floor, and 1.50 times without")
}

func TestFloorIsMeasured(t *testing.T) {
	testkit.Processes(t)
	config(t) // skips the test on other systems
	program, err := bareCommand()
	require.NoError(t, err)
	for _, nodes := range []int{2, 5} {
		r, err := measureFloor(within(t, time.Minute), program, nodes)
		require.NoError(t, err)
		require.Positive(t, r.Seen)
		require.Positive(t, r.Refused)
		require.GreaterOrEqual(t, r.Floor, r.Seen, "a process reports the message after the end")
		require.GreaterOrEqual(t, r.Floor, r.Refused, "the next leader sends after its dial")
		require.Positive(t, r.memory.Anonymous)
	}
}

func TestFloorReportsFailedProgram(t *testing.T) {
	testkit.Processes(t)
	config(t)
	_, err := measureFloor(within(t, time.Minute), "true", 2)
	require.ErrorContains(t, err, `true has written "", want 1 words`)
}
