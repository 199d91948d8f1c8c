package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/proccluster"
)

// shiftOf returns a shift with periods in ms.
func shiftOf(node string, token uint64, periods ...[2]int64) shift {
	s := shift{node: node, token: token, pid: int(token)}
	for _, p := range periods {
		s.periods = append(s.periods, period{p[0] * int64(time.Millisecond), p[1] * int64(time.Millisecond)})
	}
	return s
}

func TestVerdictFromWork(t *testing.T) {
	const ms = time.Millisecond
	type want struct {
		failovers        string // from>to:time without work
		two, woken, none time.Duration
	}
	frozen := []freeze{{"n1", int64(1000 * ms), int64(3000 * ms)}}
	for _, tc := range []struct {
		name    string
		shifts  []shift
		freezes []freeze
		want    want
	}{
		{"nothing", nil, nil, want{}},
		{"one member works", []shift{shiftOf("n1", 1, [2]int64{0, 10000})}, nil, want{}},
		{"it stops", []shift{shiftOf("n1", 1, [2]int64{0, 4000})}, nil, want{none: 6000 * ms}},
		{"one after the other", []shift{shiftOf("n1", 1, [2]int64{0, 4000}), shiftOf("n2", 2, [2]int64{4500, 10000})}, nil,
			want{failovers: "n1>n2:500ms", none: 500 * ms}},
		{"without a pause between them", []shift{shiftOf("n1", 1, [2]int64{0, 4000}), shiftOf("n2", 2, [2]int64{4000, 10000})}, nil,
			want{failovers: "n1>n2:0s"}},
		{"two at once", []shift{shiftOf("n1", 1, [2]int64{0, 4000}), shiftOf("n2", 2, [2]int64{3000, 10000})}, nil,
			want{failovers: "n1>n2:0s", two: 1000 * ms}},
		{"three at once count once", []shift{
			shiftOf("n1", 1, [2]int64{0, 10000}), shiftOf("n2", 2, [2]int64{1000, 4000}), shiftOf("n3", 3, [2]int64{2000, 3000}),
		}, nil, want{failovers: "n1>n2:0s n1>n3:0s", two: 3000 * ms}},
		{"two processes of one member", []shift{shiftOf("n1", 1, [2]int64{0, 10000}), shiftOf("n1", 2, [2]int64{9000, 10000})}, nil,
			want{failovers: "n1>n1:0s", two: 1000 * ms}},
		{"the same token on both sides of a partition", []shift{shiftOf("n1", 1, [2]int64{0, 10000}), {node: "n2", token: 1, pid: 7, periods: []period{{int64(9000 * ms), int64(10000 * ms)}}}}, nil,
			want{failovers: "n1>n2:0s", two: 1000 * ms}},
		{"the first member works again", []shift{
			shiftOf("n1", 1, [2]int64{0, 1000}), shiftOf("n2", 2, [2]int64{2000, 3000}), shiftOf("n1", 3, [2]int64{6000, 10000}),
		}, nil, want{failovers: "n1>n2:1s n2>n1:3s", none: 4000 * ms}},
		{"a paused process does not work", []shift{shiftOf("n1", 1, [2]int64{0, 1000}, [2]int64{3000, 10000})}, nil, want{none: 2000 * ms}},
		{"another works during the pause, and then both", []shift{shiftOf("n1", 1, [2]int64{0, 1000}, [2]int64{3000, 3050}), shiftOf("n2", 2, [2]int64{2000, 10000})}, nil,
			want{failovers: "n1>n2:1s", two: 50 * ms, none: 1000 * ms}},
		{"a freeze excuses that", []shift{shiftOf("n1", 1, [2]int64{0, 1000}, [2]int64{3000, 3050}), shiftOf("n2", 2, [2]int64{2000, 10000})}, frozen,
			want{failovers: "n1>n2:1s", woken: 50 * ms, none: 1000 * ms}},
		{"but only for a second", []shift{shiftOf("n1", 1, [2]int64{0, 1000}, [2]int64{3000, 5500}), shiftOf("n2", 2, [2]int64{2000, 10000})}, frozen,
			want{failovers: "n1>n2:1s", woken: 1000 * ms, two: 1500 * ms, none: 1000 * ms}},
		{"and not of another member", []shift{shiftOf("n3", 1, [2]int64{0, 1000}, [2]int64{3000, 3050}), shiftOf("n2", 2, [2]int64{2000, 10000})}, frozen,
			want{failovers: "n3>n2:1s", two: 50 * ms, none: 1000 * ms}},
		{"and not what begins after it", []shift{shiftOf("n2", 1, [2]int64{0, 10000}), shiftOf("n1", 2, [2]int64{3000, 3050})}, frozen,
			want{failovers: "n2>n1:0s", two: 50 * ms}},
		{"a unit that was not finished is no work", []shift{shiftOf("n1", 1, [2]int64{0, 10000}), shiftOf("n2", 2, [2]int64{5000, 5000})}, nil,
			want{failovers: "n1>n2:0s"}},
		{"the end of the members counts only if two work", []shift{
			shiftOf("n1", 1, [2]int64{0, 10500}), shiftOf("n2", 2, [2]int64{10400, 11000}), shiftOf("n3", 3, [2]int64{12000, 12500}),
		}, nil, want{two: 100 * ms}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := judge(tc.shifts, tc.freezes, int64(10*time.Second))
			var failovers []string
			for _, f := range v.failovers {
				failovers = append(failovers, fmt.Sprintf("%s>%s:%v", f.from.node, f.to.node, f.noWork))
			}
			require.Equal(t, tc.want, want{strings.Join(failovers, " "), v.two, v.woken, v.none})
		})
	}
}

func TestScheduleFollowsFromSeed(t *testing.T) {
	for _, partitions := range []bool{true, false} {
		a, b, c := newSchedule(7, 5, partitions, algo.LAN()), newSchedule(7, 5, partitions, algo.LAN()), newSchedule(8, 5, partitions, algo.LAN())
		seen := make(map[string]int)
		differs := false
		for range 1000 {
			f := a.next()
			require.Equal(t, f, b.next())
			differs = differs || c.next().hold != f.hold
			require.GreaterOrEqual(t, f.wait, 2*time.Second)
			require.LessOrEqual(t, f.wait, 6*time.Second)
			least, most := time.Second, 3*time.Second
			if f.kind == faultPartition {
				least, most = 2*time.Second, 4*time.Second
			}
			require.GreaterOrEqual(t, f.hold, least)
			require.LessOrEqual(t, f.hold, most)
			seen[fmt.Sprint(f.kind, f.leader)]++

			const leader = 4
			targets := f.targets(leader)
			require.NotEmpty(t, targets)
			require.LessOrEqual(t, len(targets), 2, "the larger part stays connected")
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(targets))), len(targets))
			for _, n := range targets {
				require.GreaterOrEqual(t, n, 1)
				require.LessOrEqual(t, n, 5)
			}
			switch {
			case f.leader:
				require.Equal(t, []int{leader}, targets)
			case f.kind != faultPartition:
				require.Len(t, targets, 1)
				require.NotContains(t, targets, leader)
			}
		}
		require.True(t, differs)
		kinds := 4
		if partitions {
			kinds = 6
		}
		require.Len(t, seen, kinds, seen)
		for kind, n := range seen {
			require.Greater(t, n, 50, kind)
		}
	}
	require.InEpsilon(t, 3000.0/380, newSchedule(1, 3, false, algo.WAN()).slower, 1e-9)
	require.InEpsilon(t, 1, newSchedule(1, 3, false, algo.Local()).slower, 1e-9)
}

// A worker that was held up begins a new period, which includes the unit of work that it has just finished.
func TestWorkIsRecordedInPeriods(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "n2.17.100.99"))
	require.NoError(t, err)
	defer file.Close()
	const ms = int64(time.Millisecond)
	times := []int64{1002, 1004, 1104, 1106, 3000, 3002, 9000}
	full := errors.New("the disk is full")
	err = recordWork(func(b []byte, at int64) (int, error) {
		if len(times) == 0 {
			return 0, full
		}
		return file.WriteAt(b, at)
	}, period{1000 * ms, 1000 * ms}, func() int64 {
		now := times[0] * ms
		times = times[1:]
		return now
	})
	require.ErrorIs(t, err, full)
	r := shiftReader{folder: filepath.Dir(file.Name())}
	shifts, err := r.read()
	require.NoError(t, err)
	require.Equal(t, []shift{{node: "n2", token: 17, pid: 100, watchdog: 99, periods: []period{{1000 * ms, 1106 * ms}, {2998 * ms, 3002 * ms}}}}, shifts)
}

func TestShiftReaderOrdersAndForgets(t *testing.T) {
	r := shiftReader{folder: t.TempDir()}
	now := proccluster.Now()
	write := func(name string, begin, end int64) {
		text := fmt.Sprintf("%020d %020d\n%020d", begin, end, end) // the last line is being written
		require.NoError(t, os.WriteFile(filepath.Join(r.folder, name), []byte(text), 0o600))
	}
	write("n1.2.11.10", now-100, now)
	write("n3.1.13.12", now-200, now-150)
	write("n2.1.9.8", now-2*int64(forgotten), now-2*int64(forgotten)+5)
	for _, name := range []string{"n1.2.11", "n1.x.11.10", "n1.2.x.10", "n1.2.11.x"} {
		write(name, now, now)
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.folder, "n4.3.15.14"), []byte("0000"), 0o600))
	names := func() (names []string) {
		shifts, err := r.read()
		require.NoError(t, err)
		for _, s := range shifts {
			names = append(names, s.node)
		}
		return names
	}
	require.Equal(t, []string{"n2", "n3", "n1"}, names())
	require.Len(t, r.ended, 1)
	require.NoError(t, os.WriteFile(filepath.Join(r.folder, "n2.1.9.8"), nil, 0o600))
	require.Equal(t, []string{"n2", "n3", "n1"}, names(), "not read again")
	shifts, err := r.read()
	require.NoError(t, err)
	w, ok := workerAt(shifts, now+int64(heldUp))
	require.True(t, ok)
	require.Equal(t, "n1", w.node)
	_, ok = workerAt(shifts, now+int64(heldUp)+1)
	require.False(t, ok)

	_, err = (&shiftReader{folder: filepath.Join(r.folder, "none")}).read()
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestUsageOfChaos(t *testing.T) {
	for args, want := range map[string][]string{
		"--chaos 0s":                {"--chaos is 0s, want more than 0"},
		"--chaos soon":              {`--chaos is "soon", want a duration`},
		"--chaos 1m --lease=maybe":  {`--lease is "maybe", want on or off`},
		"--lease=off":               {"--lease is set without --chaos"},
		"--chaos 1m --nodes 2":      {"--nodes is 2, want 3 to 64 with --chaos"},
		"--chaos 1m --preset moon":  {`--preset is "moon", want local, lan or wan`},
		"--chaos 1m --option x=1":   {"--option"},
		"--chaos 1m --keep --join":  {"--keep is set beside --chaos", "--join is set beside --chaos"},
		"--chaos -1s --rounds 2":    {"--chaos is -1s", "--rounds is set beside --chaos"},
		"--chaos 1m --signal kill":  {"--signal is set beside --chaos"},
		"--chaos 1m --algorithm xy": {`--algorithm is "xy", want bully`},
	} {
		status, stdout, stderr := elect(append([]string{"demo"}, strings.Fields(args)...)...)
		require.Equal(t, statusUsage, status, args)
		require.Empty(t, stdout, args)
		for _, w := range want {
			require.Contains(t, stderr, w, args)
		}
	}
	status, _, stderr := elect(workSubcommand, t.TempDir())
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "elect run starts it")
}

func TestChaosRunsWithDefaultLease(t *testing.T) {
	for args, want := range map[string]struct{ variant, flags string }{
		"":                              {"bully+lease", "--algorithm bully --preset lan --lease"},
		"--lease":                       {"bully+lease", "--algorithm bully --preset lan --lease"},
		"--lease=off --preset wan":      {"bully", "--algorithm bully --preset wan --lease=off"},
		"--algorithm textbook-ring":     {"textbook-ring+lease", "--algorithm textbook-ring --preset lan --lease --allow-textbook"},
		"--option answer_timeout=300ms": {"bully+lease", "--algorithm bully --preset lan --lease --option answer_timeout=300ms"},
		"--lease=false --nodes 3":       {"bully", "--algorithm bully --preset lan --lease=off"},
		"--algorithm vote --lease=on":   {"vote+lease", "--algorithm vote --preset lan --lease"},
	} {
		cmd := builtins.newDemo()
		require.NoError(t, cmd.ParseFlags(append(strings.Fields(args), "--chaos", "1m")))
		f := demoFlags{chaos: time.Minute, lease: cmd.Flags().Lookup("lease").Value.String(), nodes: 3}
		f.algorithm, f.preset = cmd.Flags().Lookup("algorithm").Value.String(), cmd.Flags().Lookup("preset").Value.String()
		f.options, _ = cmd.Flags().GetStringArray("option")
		s, err := builtins.checkChaos(cmd, &f)
		require.NoError(t, err, args)
		require.Equal(t, want.variant, f.variant(), args)
		require.Equal(t, want.flags, strings.Join(f.chaosArgs(), " "), args)
		require.Equal(t, !f.leased, s.Config.Lease.IsOff(), args)
		require.False(t, s.Config.Lease.TrustEvidence, "elect run rejects it")
	}
}

func TestChaosReport(t *testing.T) {
	const second = int64(time.Second)
	c := &chaosDemo{
		demo:   &demo{flags: &demoFlags{algorithm: "bully", leased: true, nodes: 5, seed: 9, chaos: time.Minute}},
		counts: map[faultKind]int{faultKill: 2, faultPartition: 1}, began: second,
	}
	require.Contains(t, c.status(), "no member works")
	v := verdict{failovers: []failover{{noWork: time.Second}, {noWork: 3 * time.Second}}, none: 4 * time.Second}
	o := c.conclude(v, 31*second)
	require.Equal(t, []string{
		"In 30 s, by seed 9: 3 faults (2 kills, 1 partition).",
		"Failovers: 2. No member worked for 4.0 s in all. Before a failover: p50 2000 ms, p99 2980 ms.",
		"Two members worked at once for 0.0 ms, with the lease.",
	}, o.lines(c.flags))
	text, err := json.Marshal(o)
	require.NoError(t, err)
	want := []string{"algorithm", "failovers", "faults", "no_work_ms", "nodes", "p50_ms", "p99_ms", "partitions", "seed", "took_ms", "two_ms", "verdict", "woken_ms"}
	if proccluster.Clock != "monotonic" {
		want = append([]string{"algorithm", "clock"}, want[1:]...)
	}
	require.Equal(t, want, keys(t, string(text)))
	require.Equal(t, "one at a time", o.Verdict)
	require.InDelta(t, 2980, *o.P99MS, 1)

	v.two, v.woken = 7*time.Millisecond, time.Millisecond
	o = c.conclude(v, 31*second)
	require.Equal(t, "two at once", o.Verdict)
	require.Contains(t, strings.Join(o.lines(c.flags), "\n"), "for 7.0 ms. The lease should have prevented that.")
	require.Contains(t, strings.Join(o.lines(c.flags), "\n"), "A frozen command worked for 1.0 ms after it had woken")
	c.flags.leased = false
	require.Contains(t, strings.Join(o.lines(c.flags), "\n"), "for 7.0 ms, with --lease=off.")
	require.Nil(t, c.conclude(verdict{}, second).P50MS)

	// The help names each field of each object.
	help := builtins.newDemo().Long
	for _, object := range []any{o, faultObject{}, failoverObject{}} {
		text, err := json.Marshal(object)
		require.NoError(t, err)
		for _, key := range keys(t, string(text)) {
			require.Contains(t, help, key)
		}
	}
}

func TestChaosFaultIsDescribed(t *testing.T) {
	for want, o := range map[string]faultObject{
		"At 1.5 s: n5, the leader, is killed, and back after 2.0 s.":        {Fault: faultKill, AtMS: 1500, Nodes: []string{"n5"}, Leader: true, HoldMS: 2000},
		"At 0.0 s: n1 is paused for 1.2 s.":                                 {Fault: faultPause, Nodes: []string{"n1"}, HoldMS: 1234},
		"At 0.0 s: n2, the leader, is frozen, with its command, for 1.0 s.": {Fault: faultFreeze, Nodes: []string{"n2"}, Leader: true, HoldMS: 1000},
		"At 9.0 s: n1, n3 are cut off for 3.0 s.":                           {Fault: faultPartition, AtMS: 9000, Nodes: []string{"n1", "n3"}, Leader: true, HoldMS: 3000},
	} {
		require.Equal(t, want, o.String())
	}
}

func TestChaosStatusIsBelowTable(t *testing.T) {
	c := &chaosDemo{demo: &demo{flags: &demoFlags{chaos: time.Minute}}}
	s := &screen{title: "a title", last: someStates(), status: c.status}
	picture := func() string {
		var text bytes.Buffer
		for _, line := range s.picture(80, 24) {
			fmt.Fprintln(&text, line.text)
		}
		return text.String()
	}
	require.Contains(t, picture(), "no member works yet")
	c.began, c.isAtWork, c.worker = proccluster.Now(), true, shift{node: "n3"}
	c.verdict = verdict{failovers: []failover{{noWork: time.Second}}, two: 3 * time.Millisecond}
	require.Contains(t, picture(), "of 1m0s: 1 failover (p50 1000 ms, p99 1000 ms), two at once 3.0 ms, n3 works")
}
