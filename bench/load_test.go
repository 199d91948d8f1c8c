package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/fault"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// BenchmarkLoad counts needless elections while threads of another process with the same priority use
// all available processor time. There must be none. An iteration is a minute, or 5 s with -short.
func BenchmarkLoad(b *testing.B) {
	config := setting(b)
	for _, threads := range []int{4, 16} {
		b.Run(fmt.Sprintf("algorithm=bully/n=5/threads=%d", threads), func(b *testing.B) {
			span := time.Minute
			if testing.Short() {
				span = 5 * time.Second
			}
			benchmarkLoad(b, config, threads, span)
		})
	}
}

// witness records the events of nodes about leaders and suspicions.
type witness struct {
	mu     sync.Mutex
	events []trace.Event
	nodes  []string // node of each event
}

func (w *witness) see(node string, e trace.Event) {
	if e.Kind != trace.Announce && e.Kind != trace.Suspect && e.Kind != trace.Trust {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events, w.nodes = append(w.events, e), append(w.nodes, node)
}

// between returns the number of leader changes and of suspicions in a period, and all its events as
// text.
func (w *witness) between(from, to int64) (changes, suspicions int, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, e := range w.events {
		if at := int64(e.At); at < from || at >= to {
			continue
		}
		switch e.Kind {
		case trace.Announce:
			changes++
		case trace.Suspect:
			suspicions++
		}
		text += "\n" + reportedEvent{w.nodes[i], e}.after(from)
	}
	return changes, suspicions, text
}

// reportedEvent is an event with the node that reported it.
type reportedEvent struct {
	node string
	trace.Event
}

// after formats the event with the time since from.
func (e reportedEvent) after(from int64) string {
	about := e.Peer
	if e.Kind == trace.Announce {
		about = e.Leader.ID
	}
	return fmt.Sprintf("%s after %v: %s of %s, epoch %d", e.node, e.At-time.Duration(from), e.Kind, about, e.Leader.Epoch)
}

// since returns the events at and after a time.
func (w *witness) since(from int64) (all []reportedEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, e := range w.events {
		if int64(e.At) >= from {
			all = append(all, reportedEvent{w.nodes[i], e})
		}
	}
	return all
}

func benchmarkLoad(b *testing.B, config proccluster.Config, threads int, span time.Duration) {
	var seen witness
	config.Nodes, config.OnEvent = 5, seen.see
	config.Args = append(slices.Clone(config.Args), election.Flags("bully")...)
	f, err := proccluster.New(within(b, time.Minute), config)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := fault.End(f); err != nil {
			b.Error(err)
		}
	}()
	before, err := f.WaitQuiet(within(b, time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	begin := proccluster.Now()
	load, err := startLoad(threads)
	if err != nil {
		b.Fatal(err)
	}
	repeat(b, 1, func() { _ = proccluster.Sleep(b.Context(), span) })
	elapsed := time.Duration(proccluster.Now() - begin)
	used, usageErr := readUsage(load.cmd.Process.Pid)
	if err := errors.Join(usageErr, load.stop()); err != nil {
		b.Fatal(err)
	}

	// A necessary election shows that the nodes still monitor each other. Each node writes its events
	// in order, so all earlier events have arrived, too.
	if _, err := f.WaitLeader(within(b, time.Minute)); err != nil {
		b.Fatal(err)
	}
	failure, err := f.FailLeader(proccluster.Term)
	if err != nil {
		b.Fatal(err)
	}
	after, err := failure.WaitFailover(within(b, time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	changes, suspicions, text := seen.between(begin, failure.At)
	cores := used.CPU.Seconds() / elapsed.Seconds()
	b.ReportMetric(float64(changes), "leader-changes")
	b.ReportMetric(float64(suspicions), "suspicions")
	b.ReportMetric(cores, "load-cores")
	b.Logf("%d spinning threads used %.2f of %d cores for %v; load average now %s", threads, cores, runtime.NumCPU(), elapsed.Round(time.Second), hostinfo.LoadAverage())
	if cores < 0.5 {
		b.Errorf("the load used %.2f cores, want at least 0.5, so the result shows nothing", cores)
	}
	if changes > 0 || suspicions > 0 || after.OldLeader != before.Name || after.EpochBefore != before.Epoch {
		b.Errorf("%d leader changes and %d suspicions although no node failed; %s in epoch %d led before and %s in epoch %d after: %s",
			changes, suspicions, before.Name, before.Epoch, after.OldLeader, after.EpochBefore, text)
	}
	if after.EpochAfter <= after.EpochBefore || after.NewLeader != proccluster.Name(config.Nodes-1) {
		b.Errorf("%s followed in epoch %d when the leader of epoch %d stopped, want %s in a newer one",
			after.NewLeader, after.EpochAfter, after.EpochBefore, proccluster.Name(config.Nodes-1))
	}
}

// spinEnv makes this program spin instead of testing. Its value is the number of threads.
const spinEnv = "TEST_SPIN_OF_BENCH"

type load struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// startLoad starts the load and returns when its threads spin.
func startLoad(threads int) (*load, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	// One more thread waits for the end.
	cmd.Env = append(os.Environ(), spinEnv+"="+strconv.Itoa(threads), "GOMAXPROCS="+strconv.Itoa(threads+1))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &load{cmd, stdin}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: the load does not start: %w", err), cmd.Process.Kill(), l.stop())
	}
	return l, nil
}

func (l *load) stop() error { return errors.Join(l.stdin.Close(), l.cmd.Wait()) }

// spin runs until standard input ends, at the latest at the end of the parent.
func spin(threads string) {
	n, err := strconv.Atoi(threads)
	if err != nil {
		panic(err)
	}
	for range n {
		go func() {
			runtime.LockOSThread()
			for i := 0; ; i++ {
			}
		}()
	}
	fmt.Print(".")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestLoadSpinsUntilStopped: without load the benchmark would show nothing, and a load that stays would
// affect later benchmarks.
func TestLoadSpinsUntilStopped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time that a process has used is known on linux only")
	}
	l, err := startLoad(2)
	if err != nil {
		t.Fatal(err)
	}
	pid := l.cmd.Process.Pid
	deadline := time.Now().Add(30 * time.Second)
	for {
		used, err := readUsage(pid)
		if err != nil {
			t.Error(err)
			break
		}
		if used.CPU > 50*time.Millisecond {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("the load has used %v, want 50ms", used.CPU)
			break
		}
	}
	if err := l.stop(); err != nil {
		t.Error(err)
	}
	if _, err := readUsage(pid); err == nil {
		t.Errorf("process %d still runs", pid)
	}
}
