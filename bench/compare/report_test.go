package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
)

// example returns possible results of three rounds.
func example() result.Run {
	r := result.Run{
		Began: time.Date(2001, 2, 3, 4, 5, 0, 0, time.UTC), Command: "go run . -rounds 3", Seed: 7, Clock: "monotonic",
		Machine:  hostinfo.Machine{System: "linux/amd64", Cores: 2, Model: "abacus", Kernel: "6.1", Go: "go1", Load: "0.1 0.2 0.3", FileSystem: "ext4"},
		Versions: map[string]string{"b": "v2", "a": "v1"}, Remarks: []string{"defaults, elect: one; two"},
	}
	for round := range 3 {
		for _, of := range []struct {
			system             string
			followed, lastUp   float64
			unaskedInTheSecond float64
		}{{ours, 5, 2.5, 0}, {"hashicorp-raft", 2000, 1900, 0}, {"etcd-raft", 1500, 1400, 2}, {"memberlist", 0, 6000, 0}} {
			values := map[string]float64{givenUp: of.lastUp, firstUp: of.lastUp / 2, restBefore: 500, unasked: 0}
			if of.followed > 0 {
				values[followed] = of.followed
			}
			if round == 1 {
				values[unasked] = of.unaskedInTheSecond
			}
			r.Trials = append(r.Trials, result.Trial{Name: Case{System: of.system, Setting: atDefaults, Signal: proccluster.Kill, Nodes: 5}.name(), Values: values})
		}
	}
	r.Skipped = []string{Trial{Case: Case{System: "hashicorp-raft", Setting: atDefaults, Signal: proccluster.Kill, Nodes: 5}, Round: 4, Error: "it took too long"}.String()}
	return r
}

func written(r result.Run) string {
	var text strings.Builder
	write(&text, result.File{Results: r.Results(), Notes: r.Notes()})
	return text.String()
}

func TestReport(t *testing.T) {
	require.Equal(t, `- go run . -rounds 3
- 2001-02-03T04:05:00Z, load average 0.1 0.2 0.3
- defaults, elect: one; two
- not measured: Peers/setting=defaults/signal=kill/system=hashicorp-raft/n=5 round 4: failed: it took too long

- goos: linux
- goarch: amd64
- cpu: abacus
- cores: 2
- kernel: 6.1
- go: go1
- file-system: ext4
- clock: monotonic
- seed: 7
- a: v1
- b: v2

### defaults, the leader gets SIGKILL

| nodes | system         | rounds | followed, median | p10     | p90     | times elect [95 %] | given up, median | p10     | p90     | times elect [95 %] | unasked |
| ----- | -------------- | ------ | ---------------- | ------- | ------- | ------------------ | ---------------- | ------- | ------- | ------------------ | ------- |
| 5     | elect          | 3      | 5.00 ms          | 5.00 ms | 5.00 ms | 1                  | 2.50 ms          | 2.50 ms | 2.50 ms | 1                  | 0       |
| 5     | hashicorp-raft | 3      | 2000 ms          | 2000 ms | 2000 ms | 400                | 1900 ms          | 1900 ms | 1900 ms | 760                | 0       |
| 5     | etcd-raft      | 3      | 1500 ms          | 1500 ms | 1500 ms | 300                | 1400 ms          | 1400 ms | 1400 ms | 560                | 2       |
| 5     | memberlist     | 3      | -                | -       | -       | -                  | 6000 ms          | 6000 ms | 6000 ms | 2400               | 0       |

Aim: the faster peer takes 300 times as long as elect; wanted: at least 200: reached by the median, not by the whole interval (etcd-raft).
`, written(example()))
}

func TestAims(t *testing.T) {
	for _, test := range []struct {
		name     string
		setting  string
		signal   proccluster.Signal
		own, etc []float64
		want     string
	}{
		{"missed", atDefaults, proccluster.Kill, []float64{10}, []float64{1500}, "takes 150 times as long as elect; wanted: at least 200: missed (etcd-raft)"},
		{"by the median only", equal, proccluster.Stop, []float64{9, 10, 30}, []float64{5, 11, 12}, "not by the whole interval (etcd-raft)"},
		{"reached", equal, proccluster.Stop, []float64{9, 10, 11, 9, 10, 11, 10}, []float64{20, 21, 22, 20, 21, 22, 21}, "2.10 [1.82, 2.44] times as long as elect; wanted: at least 1: reached (etcd-raft)"},
		{"no aim", equal, proccluster.Kill, []float64{1}, []float64{9}, ""},
		{"ours alone", equal, proccluster.Stop, []float64{1}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r result.Run
			add := func(system string, all []float64) {
				for _, v := range all {
					name := Case{System: system, Setting: test.setting, Signal: test.signal, Nodes: 5}.name()
					r.Trials = append(r.Trials, result.Trial{Name: name, Values: map[string]float64{followed: v}})
				}
			}
			add(ours, test.own)
			add("etcd-raft", test.etc)
			got := written(r)
			require.Equal(t, test.want != "", strings.Contains(got, "Aim"))
			require.Contains(t, got, test.want)
		})
	}
}

func TestSteadyReport(t *testing.T) {
	var r result.Run
	for _, times := range []float64{0, 1} {
		name := Case{System: ours, Setting: "50ms/150ms", Signal: steady, Nodes: 3}.name()
		r.Trials = append(r.Trials, result.Trial{Name: name, Values: map[string]float64{restBefore: 30_000, unasked: times}})
	}
	require.Contains(t, written(r), "### 50ms_150ms, at rest")
	require.Contains(t, written(r), "| 3     | elect  | 2      | 30000   | 1       |")
}

func TestShownResultsEqualSavedResults(t *testing.T) {
	save := func(r result.Run) string {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, (&options{out: path}).save(r))
		return path
	}
	one := save(example())
	var shown, said bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-show", one}, &shown, &said), said.String())
	require.Equal(t, written(example()), shown.String())

	other := example()
	other.Versions["a"] = "v9"
	both, err := read([]string{one, save(other)})
	require.NoError(t, err)
	require.Len(t, both.Results, 2*len(other.Trials))
	var text strings.Builder
	write(&text, both)
	require.Contains(t, text.String(), "- the runs differ in a: v1 and v9\n")
	require.Equal(t, 6, rowsOf(both)[0].rounds, "of both")

	_, err = read([]string{filepath.Join(t.TempDir(), "none")})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.False(t, slices.Contains(both.Notes, ""))
}
