package bench

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/internal/testkit"
)

var wireRoundsFlag = flag.Int("wire-rounds", 10, "elections per case of live nodes, at least")

var printWire sync.Once

// BenchmarkWire counts messages in elections of live nodes over TCP on the loopback, in which no timer expires. It
// fails if the messages differ from those of the simulator. For vote only Elect must be equal; "exact-%" is the share
// of elections in which all kinds are. T is the mean one-way time of a message of the election, from the sender's
// transport to the receiver's loop. T/election is the turnaround in T. The benchmark takes some minutes;
// -bench Wire/host=one/algorithm=ring selects a part.
func BenchmarkWire(b *testing.B) {
	config := wireConfig(b)
	for _, where := range []string{oneProcess, processes} {
		cases := wireCases()
		if where == processes {
			cases = append(cases, crashCases()...)
		}
		for _, c := range cases {
			for _, n := range []int{3, 5, 9, 17, 33} {
				if tooMany(n) {
					continue
				}
				b.Run(sub(c.nameOn(where, n)), func(b *testing.B) {
					printWire.Do(func() {
						fmt.Print(configuration(config.Dir, "nodes: in this process, or a process each, loopback", "clock: "+proccluster.Clock))
					})
					c.benchmark(b, where, config, n)
				})
			}
		}
	}
}

// wireConfig returns the configuration of the processes. They save in memory if the system has such
// a folder, because the theory does not include a disk.
func wireConfig(tb testing.TB) proccluster.Config {
	tb.Helper()
	c := config(tb)
	for _, dir := range []string{"/dev/shm", os.TempDir()} {
		if hostinfo.InMemory(hostinfo.FileSystem(dir)) {
			made, err := folders.make(dir)
			if err != nil {
				tb.Fatal(err)
			}
			c.Dir = made
			break
		}
	}
	return c
}

func (c wireCase) benchmark(b *testing.B, where string, config proccluster.Config, n int) {
	w, err := c.startOn(within(b, time.Minute), where, config, n)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			b.Error(err)
		}
	}()
	random := random(*seedFlag)
	var rounds []wireRound
	repeat(b, *wireRoundsFlag, func() {
		r, err := w.round(within(b, time.Minute), random)
		if err != nil {
			b.Fatal(err)
		}
		rounds = append(rounds, r)
	})
	reportWire(b, rounds)
}

func reportWire(b *testing.B, rounds []wireRound) {
	var sent, received, exact int
	var took, saved []time.Duration
	var T, multiples, above []float64
	for _, r := range rounds {
		sent, received = sent+algosim.Total(r.Sent), received+algosim.Total(r.Received)
		if r.Exact(nil) {
			exact++
		}
		if r.Turnaround > 0 {
			took, saved = append(took, r.Turnaround), append(saved, saves(r.notes)...)
			multiples, above = append(multiples, r.InT()), append(above, r.InT()-r.Multiple)
		}
		T = append(T, r.T())
	}
	count := float64(len(rounds))
	b.ReportMetric(float64(sent)/count, "msgs/election")
	b.ReportMetric(float64(received)/count, "delivered/election")
	b.ReportMetric(100*float64(exact)/count, "exact-%")
	b.ReportMetric(stats.Summarize(T).Median, "T-ms")
	if len(took) == 0 {
		return // no node changed its leader
	}
	b.ReportMetric(stats.Milliseconds(took).Median, "ms/elect")
	b.ReportMetric(stats.Summarize(multiples).Median, "T/election")
	b.ReportMetric(stats.Summarize(above).Median, "T-above-theory")
	if len(saved) > 0 {
		b.ReportMetric(stats.Milliseconds(saved).Median, "save-ms")
	}
}

// TestWire runs two rounds of each case with three nodes. The round itself compares the counts with
// the simulator.
func TestWire(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	config := wireConfig(t)
	for at, c := range slices.Concat(wireCases(), crashCases()) {
		crash, where := at >= len(wireCases()), oneProcess
		if crash {
			where = processes
		}
		t.Run(c.Algorithm+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			if crash && c.Algorithm != "bully" { // such a case waits for some seconds
				testkit.OnlyLong(t)
			}
			w, err := c.startOn(within(t, time.Minute), where, config, 3)
			require.NoError(t, err)
			defer func() { require.NoError(t, w.close()) }()
			random := random(1)
			for range 2 {
				before, err := w.statuses(within(t, time.Minute))
				require.NoError(t, err)
				r, err := w.round(within(t, time.Minute), random)
				require.NoError(t, err)
				if !crash { // a restarted node counts from zero, and returns with another election
					after, err := w.statuses(within(t, time.Minute))
					require.NoError(t, err)
					require.Equal(t, r.counted, between(before, after, election.Kinds(w.spec)), "the counters in the status of the nodes")
				}
				require.Len(t, r.Flights, algosim.Total(r.Received), "one for each delivered message")
				require.Positive(t, r.T())
				require.Equal(t, c.LeaderStays, r.Turnaround == 0)
				if r.Turnaround > 0 {
					require.Positive(t, r.InT())
				}
			}
		})
	}
}

// TestCountWaitsForMessagesInTransit slows each connection down: late messages are counted.
func TestCountWaitsForMessagesInTransit(t *testing.T) {
	testkit.OnlyLong(t)
	slow := func(_ *local, _ string, socket net.Listener, c *cluster.Config) {
		c.Network.Listen = func(string) (net.Listener, error) { return slowListener{socket}, nil }
	}
	at := slices.IndexFunc(wireCases(), func(c wireCase) bool { return c.LeaderStays })
	w, err := wireCases()[at].start(within(t, time.Minute), builtin.Registry(), 3, slow)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.close()) }()
	_, err = w.round(within(t, time.Minute), random(1))
	require.NoError(t, err)
}

// slowListener accepts connections that delay each read by twice the rest.
type slowListener struct{ net.Listener }

func (s slowListener) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	return slowConn{conn}, err
}

type slowConn struct{ net.Conn }

// NetConn returns the connection for code that looks up the user of the peer process.
func (s slowConn) NetConn() net.Conn { return s.Conn }

func (s slowConn) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	_ = proccluster.Sleep(context.Background(), 2*rest) // nothing ends the sleep early
	return n, err
}

// between returns the difference of the message counters in after and before.
func between(before, after map[string]cluster.Status, kinds map[string]bool) counted {
	c := counted{Sent: make(counts), Received: make(counts)}
	for name, now := range after {
		for kind := range kinds {
			for counter, into := range map[string]counts{"sent.": c.Sent, "received.": c.Received} {
				if more := int(now.Counters[counter+kind]) - int(before[name].Counters[counter+kind]); more != 0 {
					into[kind] += more
				}
			}
		}
	}
	return c
}

// startOn starts n nodes in this process, or as processes.
func (c wireCase) startOn(ctx context.Context, where string, config proccluster.Config, n int) (tappedWire, error) {
	if where == oneProcess {
		return c.startTapped(ctx, builtin.Registry(), n)
	}
	w, err := c.startProcesses(ctx, config, n)
	return tappedWire{wired: w}, err
}

func TestExact(t *testing.T) {
	right := func() wireRound {
		return wireRound{
			counted:   counted{Sent: counts{"elect": 6, "vote": 2}, Received: counts{"elect": 4, "vote": 2}},
			Simulated: counted{Sent: counts{"elect": 6, "vote": 2}, Received: counts{"elect": 4, "vote": 2}},
		}
	}
	require.True(t, right().Exact(nil))
	for name, c := range map[string]struct {
		spoil  func(*wireRound)
		racing bool // exact if votes may race
	}{
		"one sent less":     {func(r *wireRound) { r.Sent["elect"]-- }, false},
		"one received less": {func(r *wireRound) { r.Received["elect"]-- }, false},
		"a kind missing":    {func(r *wireRound) { delete(r.Sent, "elect") }, false},
		"a kind of its own": {func(r *wireRound) { r.Received["lead"] = 1 }, false},
		"a vote less":       {func(r *wireRound) { r.Sent["vote"]-- }, true},
	} {
		r := right()
		c.spoil(&r)
		require.False(t, r.Exact(nil), name)
		require.Equal(t, c.racing, r.Exact([]string{"vote"}), name)
	}
}
