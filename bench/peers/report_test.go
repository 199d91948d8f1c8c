package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/bench/peers/member"
	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/fleet"
)

// example is what three rounds might have measured.
func example() Result {
	r := Result{
		Runs: []Origin{{
			Began: time.Date(2001, 2, 3, 4, 5, 0, 0, time.UTC), Args: []string{"-rounds", "3"}, Seed: 7,
			Machine:    machine.Machine{System: "linux/amd64", Cores: 2, Model: "abacus", Kernel: "6.1", Go: "go1", Load: "0.1 0.2 0.3"},
			FileSystem: "ext4", Clock: "monotonic",
		}},
		Versions: map[string]string{"b": "v2", "a": "v1"},
		Settings: []Settings{{System: ours, Setting: atDefaults, Lines: []string{"one", "two"}}},
	}
	add := func(system string, round int, followed, lastUp float64) {
		r.Trials = append(r.Trials, Trial{
			Case:  Case{System: system, Setting: atDefaults, Signal: fleet.Kill, Nodes: 5},
			Round: round, Pause: 500, Followed: followed, FirstUp: lastUp / 2, LastUp: lastUp,
		})
	}
	for round := 1; round <= 3; round++ {
		add("memberlist", round, 0, 6000)
		add("etcd-raft", round, 1500, 1400)
		add("hashicorp-raft", round, 2000, 1900)
		add(ours, round, 5, 2.5)
	}
	r.Trials[1].Unasked = 2
	failed := r.Trials[2]
	failed.Round, failed.Error = 4, "it took too long"
	r.Trials = append(r.Trials, failed)
	return r
}

const exampleReport = `2001-02-03 04:05, seed 7, load average 0.1 0.2 0.3: go run . -rounds 3
machine: linux/amd64, 2 cores (abacus), kernel 6.1, go1; data folders on ext4, saves synced; loopback; clock monotonic

Versions:
- a v1
- b v2

Settings:
- defaults, elect: one; two

### defaults, the leader gets SIGKILL

| nodes | system         | rounds | followed, median | p10     | p90     | times elect [95 %] | given up, median | p10     | p90     | times elect [95 %] |
| ----- | -------------- | ------ | ---------------- | ------- | ------- | ------------------ | ---------------- | ------- | ------- | ------------------ |
| 5     | elect          | 3      | 5.00 ms          | 5.00 ms | 5.00 ms | 1                  | 2.50 ms          | 2.50 ms | 2.50 ms | 1                  |
| 5     | hashicorp-raft | 3      | 2000 ms          | 2000 ms | 2000 ms | 400                | 1900 ms          | 1900 ms | 1900 ms | 760                |
| 5     | etcd-raft      | 3      | 1500 ms          | 1500 ms | 1500 ms | 300                | 1400 ms          | 1400 ms | 1400 ms | 560                |
| 5     | memberlist     | 3      | -                | -       | -       | -                  | 6000 ms          | 6000 ms | 6000 ms | 2400               |

hashicorp-raft, 5 nodes: 1 of 4 rounds failed, the first: it took too long

etcd-raft, 5 nodes: 2 suspicions and changes of leader before the signals, in 1.5 s of rest

Aim, killed at 5 nodes, at defaults: the faster peer takes 300 times as long as elect; wanted: at least 200: reached by the median, not by the whole interval (etcd-raft).
`

func TestReport(t *testing.T) {
	var text strings.Builder
	example().write(&text)
	require.Equal(t, exampleReport, text.String())
}

func TestAims(t *testing.T) {
	for _, test := range []struct {
		name     string
		setting  string
		signal   fleet.Signal
		own, etc []float64
		want     string
	}{
		{"missed", atDefaults, fleet.Kill, []float64{10}, []float64{1500}, "150 times as long as elect; wanted: at least 200: missed (etcd-raft)"},
		{"by the median only", equal, fleet.Stop, []float64{9, 10, 30}, []float64{5, 11, 12}, "not by the whole interval (etcd-raft)"},
		{"reached", equal, fleet.Stop, []float64{9, 10, 11, 9, 10, 11, 10}, []float64{20, 21, 22, 20, 21, 22, 21}, "2.10 [1.82, 2.44] times as long as elect; wanted: at least 1: reached (etcd-raft)"},
		{"no aim", equal, fleet.Kill, []float64{1}, []float64{9}, ""},
		{"ours alone", equal, fleet.Stop, []float64{1}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Result
			add := func(system string, all []float64) {
				for _, v := range all {
					r.Trials = append(r.Trials, Trial{Case: Case{System: system, Setting: test.setting, Signal: test.signal, Nodes: 5}, Followed: v})
				}
			}
			add(ours, test.own)
			add("etcd-raft", test.etc)
			got := strings.Join(r.aims(), "")
			if test.want == "" {
				require.Empty(t, got)
			}
			require.Contains(t, got, test.want)
		})
	}
}

func TestSteadyReport(t *testing.T) {
	var r Result
	for range 2 {
		r.Trials = append(r.Trials, Trial{Case: Case{System: ours, Setting: "50ms/150ms", Timing: timing(50, 150), Signal: steady, Nodes: 3}, Pause: 30_000, Unasked: 1})
	}
	var text strings.Builder
	r.write(&text)
	require.Contains(t, text.String(), "### 50ms/150ms, at rest")
	require.Contains(t, text.String(), "| 3     | elect  | 50ms/150ms | 2      | 60 s | 2 ")
}

func TestResultsAreReadAsTheyAreSaved(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "1.json"), filepath.Join(t.TempDir(), "2.json")
	r := example()
	r.Settings[0].Timing = member.Timing{Heartbeat: time.Second, Timeout: 3 * time.Second}
	require.NoError(t, r.save(one))
	got, err := load([]string{one})
	require.NoError(t, err)
	require.Equal(t, r, got)

	require.NoError(t, r.save(two))
	got, err = load([]string{one, two})
	require.NoError(t, err)
	require.Len(t, got.Trials, 2*len(r.Trials))
	require.Len(t, got.Runs, 2)
	require.Len(t, got.Settings, 1)
}

func TestResultsThatDoNotFit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "1.json")
	require.NoError(t, example().save(file))
	for want, spoil := range map[string]func(*Result){
		"a is v9, and v1 in a file before it":       func(r *Result) { r.Versions["a"] = "v9" },
		"elect has other settings in a file before": func(r *Result) { r.Settings[0].Lines = nil },
	} {
		other := filepath.Join(t.TempDir(), "2.json")
		r := example()
		spoil(&r)
		require.NoError(t, r.save(other))
		_, err := load([]string{file, other})
		require.ErrorContains(t, err, want)
	}
	_, err := load([]string{filepath.Join(t.TempDir(), "none.json")})
	require.Error(t, err)
}
