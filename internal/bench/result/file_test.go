package result

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/machine"
)

// written is a run with some of everything.
func written() *Run {
	return &Run{
		Format: Format, Began: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Command: "elect bench --seed 7", Seed: 7,
		Machine: machine.Machine{System: "linux/amd64", Cores: 2, Model: "AMD EPYC, \"2\"", Kernel: "6.18", Go: "go1.26", Load: "0.1 0.2 0.3"},
		Trials: []Trial{
			{Messages, map[string]string{Algorithm: "bully", Case: "worst", Nodes: "16"}, 1, 8, map[string]float64{"msgs/election": 239, "T/election": 4}},
			{Messages, map[string]string{Algorithm: "bully", Case: "worst", Nodes: "16"}, 2, 9, map[string]float64{"msgs/election": 239, "T/election": 4}},
			{Failover, map[string]string{Algorithm: "ring", "signal": "kill", Case: "one, \"two\"", Nodes: "5"}, 1, 1<<64 - 1, map[string]float64{"ms/failover": 0.30000000000000004}},
			{Detector, nil, 1, 0, map[string]float64{"ns/op": 1e-300}},
		},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, write := range map[string]func(*Run, *bytes.Buffer) error{
		"json": func(r *Run, b *bytes.Buffer) error { return r.WriteJSON(b) },
		"csv":  func(r *Run, b *bytes.Buffer) error { return r.WriteCSV(b) },
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			require.NoError(t, write(written(), &text))
			got, err := Read(&text)
			require.NoError(t, err)
			want := written()
			for at := range got.Trials { // no labels are as good as none
				if len(got.Trials[at].Labels) == 0 {
					got.Trials[at].Labels = nil
				}
			}
			require.Equal(t, want, got)
		})
	}
}

func TestCSVIsATable(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, written().WriteCSV(&text))
	require.Equal(t, `# {"format":1,"began":"2026-01-02T03:04:05.000000006Z","command":"elect bench --seed 7","seed":7,`+
		`"machine":{"system":"linux/amd64","cores":2,"model":"AMD EPYC, \"2\"","kernel":"6.18","go":"go1.26","load":"0.1 0.2 0.3"}}
group,algorithm,case,signal,n,round,seed,metric,value
messages,bully,worst,,16,1,8,T/election,4
messages,bully,worst,,16,1,8,msgs/election,239
messages,bully,worst,,16,2,9,T/election,4
messages,bully,worst,,16,2,9,msgs/election,239
failover,ring,"one, ""two""",kill,5,1,18446744073709551615,ms/failover,0.30000000000000004
detector,,,,,1,0,ns/op,1e-300
`, text.String())
}

func TestWhatIsNoResultIsRefused(t *testing.T) {
	const head = `# {"format":1}` + "\n"
	for name, text := range map[string]string{
		"empty":                    "",
		"text":                     "no results",
		"another object":           `{"a":1}`,
		"a newer format":           `{"format":2}`,
		"a trial of nothing":       `{"format":1,"trials":[{}]}`,
		"csv without a head":       "#\ngroup,round,seed,metric,value\n",
		"csv without columns":      head,
		"csv with other columns":   head + "a,b\n1,2\n",
		"csv with a column less":   head + "group,round,seed,metric\n",
		"csv with a short line":    head + "group,n,round,seed,metric,value\nmessages,3,1,1,m\n",
		"csv with a word":          head + "group,n,round,seed,metric,value\nmessages,3,1,1,m,many\n",
		"csv without a number":     head + "group,n,round,seed,metric,value\nmessages,3,1,1,m,NaN\n",
		"csv with a value twice":   head + "group,n,round,seed,metric,value\nmessages,3,1,1,m,1\nmessages,3,1,1,m,2\n",
		"csv with an unknown word": head + "group,n,round,seed,metric,value\nhearsay,3,1,1,m,1\n",
		"csv that is cut":          head + "group,n,round,seed,metric,value\nmessages,\"3",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Read(bytes.NewReader([]byte(text)))
			require.ErrorIs(t, err, ErrFormat)
			require.Nil(t, r)
		})
	}
}

// TestWhatIsWrongIsNotWritten: nobody could read it.
func TestWhatIsWrongIsNotWritten(t *testing.T) {
	r := written()
	r.Trials[0].Values = nil
	var text bytes.Buffer
	require.ErrorIs(t, r.WriteJSON(&text), ErrFormat)
	require.ErrorIs(t, r.WriteCSV(&text), ErrFormat)
	require.Zero(t, text.Len())
}

var errFull = errors.New("no more room")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAFailedWriteIsAnError(t *testing.T) {
	require.ErrorIs(t, written().WriteJSON(full{}), errFull)
	require.ErrorIs(t, written().WriteCSV(full{}), errFull)
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	_, err := ReadFile(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	_, err = ReadFile(path)
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, []byte(`{"format":1,"seed":3}`), 0o600))
	r, err := ReadFile(path)
	require.NoError(t, err)
	require.EqualValues(t, 3, r.Seed)
}

// zeros is a device that has no end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestWhatHasNoEndIsRefused(t *testing.T) {
	_, err := Read(zeros{})
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "it has more than 64 MiB")
}

func TestWhatIsRefusedIsShownPlainly(t *testing.T) {
	const head = "# {\"format\":1}\n"
	for _, text := range []string{
		head + "group,\x1b[2J,round,seed,metric\n",
		head + "group,n,round,seed,metric,value\nmessages,3,1,1,\x1b[2J,1\nmessages,3,1,1,\x1b[2J,2\n",
		head + "group,\x1b[2J,round,seed,metric,value\nmessages,3,1,1,m,1\n",
		head + "group,n,round,seed,metric,value\nmessages,\x1b[2J,1,1,m,1\n",
		head + "group,n,round,seed,metric,value\n\x1b[2J,3,1,1,m,\x1b[2J\n",
		"\x1b[2J", "# \x1b[2J\n", `{"format":1,"trials":[{"group":"\u001b[2J"}]}`,
	} {
		_, err := Read(bytes.NewReader([]byte(text)))
		require.ErrorIs(t, err, ErrFormat)
		require.NotContains(t, err.Error(), "\x1b")
	}
}
