package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/docs/lessons"
	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/trace"
)

var build = lab.BuildFrom(builtin.Registry())

func run(t *testing.T, scenario string) *lab.Result {
	t.Helper()
	r, err := lab.Run(t.Context(), lab.Request{Scenario: scenario}, build)
	require.NoError(t, err)
	requireConsistent(t, r)
	return r
}

// requireConsistent requires that the IDs in a result refer to the messages, steps and states that belong together.
func requireConsistent(t *testing.T, r *lab.Result) {
	t.Helper()
	for i, m := range r.Messages {
		require.Equal(t, i, m.ID)
		if m.Step >= 0 {
			require.Contains(t, r.Steps[m.Step].Sent, m.ID)
			require.Equal(t, m.From, r.Steps[m.Step].Node)
			require.Equal(t, m.Sent, r.Steps[m.Step].At)
			require.Equal(t, r.Steps[m.Step].Message, m.Cause)
		}
		if m.By >= 0 {
			require.Equal(t, m.ID, r.Steps[m.By].Message)
			require.Equal(t, m.To, r.Steps[m.By].Node)
			require.Equal(t, m.Ended, r.Steps[m.By].At)
			require.Equal(t, m.Lost != "", r.Steps[m.By].Kind == trace.Drop)
			require.LessOrEqual(t, m.Sent, m.Ended)
		}
		require.False(t, m.By < 0 && m.Step < 0, "message %d belongs to no step", i)
	}
	for i, s := range r.Steps {
		require.Equal(t, i, s.ID)
		require.GreaterOrEqual(t, s.At, r.From)
		require.Less(t, s.After, len(r.States))
		if i > 0 {
			require.LessOrEqual(t, r.Steps[i-1].At, s.At)
		}
	}
	for _, span := range r.Spans {
		require.LessOrEqual(t, span.From, span.To)
		require.LessOrEqual(t, r.From, span.From)
		require.LessOrEqual(t, span.To, r.End)
	}
}

// The worst case of textbook bully has 19 messages: see lesson 1.
const worst = `# Bully at its worst
# Draw from 1s, T = 10ms
algorithm textbook-bully
detector scripted
delay 10ms
timing round_trip=20ms
cluster 5
run 1s
leader n5
crash n5
suspect n1 n5
run 200ms
leader n4
`

func TestWorstCaseOfBully(t *testing.T) {
	r := run(t, worst)
	require.Equal(t, "Bully at its worst", r.Title)
	require.Equal(t, "textbook-bully", r.Algorithm)
	require.Equal(t, "T", r.UnitName)
	require.Equal(t, 10*time.Millisecond, r.Unit)
	require.Equal(t, time.Second, r.From)
	require.Equal(t, 1200*time.Millisecond, r.End)
	require.Len(t, r.Nodes, 5)
	require.Nil(t, r.Failure)
	require.Len(t, r.Messages, 19)

	lost := 0
	for _, m := range r.Messages {
		if m.Lost != "" {
			lost++
			require.Equal(t, 4, m.To, "only n5 does not run")
			require.Equal(t, "not running", m.Lost)
		} else {
			require.Equal(t, 10*time.Millisecond, m.Ended-m.Sent)
		}
	}
	require.Equal(t, 4, lost, "the Elections to n5")

	last := r.Messages[len(r.Messages)-1]
	require.Equal(t, "coordinator", last.Kind)
	require.Equal(t, 3, last.From)
	first := r.Messages[0]
	require.Equal(t, "election", first.Kind)
	require.Equal(t, -1, first.Cause, "a suspicion has caused it")
	require.Equal(t, trace.Suspect, r.Steps[first.Step].Kind)
	answer := slices.IndexFunc(r.Messages, func(m lab.Message) bool { return m.Kind == "answer" })
	cause := r.Messages[r.Messages[answer].Cause]
	require.Equal(t, "election", cause.Kind)
	require.Equal(t, r.Messages[answer].To, cause.From)

	require.Contains(t, r.Spans, lab.Span{Node: 4, Kind: "down", From: time.Second, To: 1200 * time.Millisecond})
	leads := r.Spans[slices.IndexFunc(r.Spans, func(s lab.Span) bool { return s.Node == 3 })]
	require.Equal(t, "leads", leads.Kind)
	require.Equal(t, r.End, leads.To)
	require.Greater(t, leads.Epoch, r.Epochs[0].Epoch)
	require.Equal(t, r.Epochs[1], lab.Epoch{Epoch: leads.Epoch, From: leads.From, To: r.End})
	require.Equal(t, r.Epochs[0].To, leads.From)
}

// A step has the state of its node before and after it. No other node changes in a step.
func TestStatesBeforeAndAfter(t *testing.T) {
	r := run(t, worst)
	now := make([]int, len(r.Nodes))
	for i, n := range r.Nodes {
		require.GreaterOrEqual(t, n.State, 0, "each node ran at From")
		now[i] = n.State
	}
	changed := 0
	for _, s := range r.Steps {
		switch s.Kind {
		case trace.Drop:
			continue
		case trace.Crash:
			require.Equal(t, -1, s.After)
			continue
		}
		require.Equal(t, now[s.Node], s.Before)
		now[s.Node] = s.After
		if s.Before != s.After {
			changed++
		}
	}
	require.Greater(t, changed, 5)
	require.Contains(t, r.States[now[0]], "coordinator n4")
	require.NotContains(t, strings.Join(r.States, "\n"), "options")
}

// The same request has the same result, byte for byte.
func TestRunIsDeterministic(t *testing.T) {
	scenario := "algorithm vote\ndelay 1ms..9ms\nloss 0.1\ncluster 5\nrun 2s\ncrash n1\nrun 2s\n"
	var texts [2]string
	for i := range texts {
		text, err := json.Marshal(run(t, scenario))
		require.NoError(t, err)
		texts[i] = string(text)
	}
	require.Equal(t, texts[0], texts[1])
}

// A violation names the step that caused it, and no other step of the same moment.
func TestViolationNamesItsStep(t *testing.T) {
	text, err := fs.ReadFile(lessons.Files, "scenarios/3-orphan.txt")
	require.NoError(t, err)
	scenario := strings.ReplaceAll(string(text), "violates", "# violates")
	scenario = strings.Replace(scenario, "run 100ms", "run 25ms\ncampaign n1\ncampaign n2\nrun 75ms", 1) // causes several steps at one moment
	r := run(t, scenario)
	require.NotNil(t, r.Failure)
	require.Positive(t, r.Failure.Line)
	i := slices.IndexFunc(r.Properties, func(p lab.Property) bool { return p.Text != "" })
	require.GreaterOrEqual(t, i, 0)
	p := r.Properties[i]
	require.GreaterOrEqual(t, p.Step, 0)
	step := r.Steps[p.Step]
	require.Equal(t, p.At, step.At)
	require.Equal(t, p.At, r.Steps[p.Step+1].At, "a later step of the same moment")
	require.Contains(t, p.Text, r.Nodes[step.Node].Name+" follows")
	require.Contains(t, step.Notes, strings.TrimPrefix(p.Text[:strings.Index(p.Text, ",")], r.Nodes[step.Node].Name+" ")+" in epoch 3")
	require.True(t, slices.ContainsFunc(step.Notes, func(n string) bool { return strings.Contains(n, "lead") || strings.Contains(n, "follow") }), step.Notes)
}

func TestFailedAssertionIsPartOfResult(t *testing.T) {
	r := run(t, "algorithm bully\ncluster 3\nrun 1s\nleader n1\n")
	require.Equal(t, 4, r.Failure.Line)
	require.Contains(t, r.Failure.Text, "n3")
	require.NotEmpty(t, r.Steps)
}

// Periodic messages without an effect are omitted, unless they are requested.
func TestPeriodicMessages(t *testing.T) {
	const scenario = "# Draw from 2s\nalgorithm vote\ncluster 3\nrun 5s\n"
	require.Empty(t, run(t, scenario).Messages)
	r, err := lab.Run(t.Context(), lab.Request{Scenario: scenario, All: true}, build)
	require.NoError(t, err)
	requireConsistent(t, r)
	require.NotEmpty(t, r.Messages)
	for _, m := range r.Messages {
		require.True(t, m.Repeat)
	}
}

// Each scenario of the lessons has a result.
func TestScenariosOfLessons(t *testing.T) {
	files, err := fs.Glob(lessons.Files, "scenarios/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := fs.ReadFile(lessons.Files, file)
		require.NoError(t, err)
		r, err := lab.Run(t.Context(), lab.Request{Scenario: string(text)}, build)
		require.NoError(t, err, file)
		requireConsistent(t, r)
		require.Nil(t, r.Failure, file)
		require.NotEmpty(t, r.Steps, file)
		require.NotEmpty(t, r.Title, file)
	}
}

func TestLimits(t *testing.T) {
	for _, test := range []struct{ name, scenario, want string }{
		{"bytes", "cluster 3\n" + strings.Repeat("# long\n", 10_000), "the scenario has 70010 bytes, want at most 65536"},
		{"nodes", "cluster 33\n", "more than 32 nodes"},
		{"nodes that join", "cluster 32\nrun 1s\njoin n1\n", "more than 32 nodes"},
		{"steps", "algorithm textbook-bully\ncluster 32\nrun 1s\n" + strings.Repeat("campaign n1\nrun 500ms\n", 200), "more than 10000 steps"},
		{"events", "# Draw from 1h\nalgorithm textbook-bully\ncluster 32\nrun 1s\n" + strings.Repeat("campaign n1\nrun 500ms\n", 500), "more than 200000 events"},
	} {
		_, err := lab.Run(t.Context(), lab.Request{Scenario: test.scenario}, build)
		require.ErrorIs(t, err, lab.ErrLimit, test.name)
		require.ErrorContains(t, err, test.want, test.name)
		require.Len(t, lab.Problems(err), 1, test.name)
	}
}

func TestMistakesOfScenario(t *testing.T) {
	_, err := lab.Run(t.Context(), lab.Request{Scenario: "cluster 3\nrun fast\ncrash m1\n"}, build)
	problems := lab.Problems(err)
	require.Len(t, problems, 2, fmt.Sprint(err))
	require.Equal(t, 2, problems[0].Line)
	require.Equal(t, 5, problems[0].Column)
	require.Equal(t, 3, problems[1].Line)
	for _, p := range problems {
		require.NotContains(t, p.Text, "sim:")
	}

	_, err = lab.Run(t.Context(), lab.Request{Scenario: "cluster 3\n# Draw from here\nrun 1s\n"}, build)
	require.ErrorContains(t, err, "want the moment")
	require.Equal(t, 2, lab.Problems(err)[0].Line)

	_, err = lab.Run(t.Context(), lab.Request{Scenario: "algorithm bluly\ncluster 3\n"}, build)
	require.ErrorContains(t, err, "bluly")
	require.Len(t, lab.Problems(err), 1)
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := lab.Run(ctx, lab.Request{Scenario: "cluster 3\nrun 1h\n"}, build)
	require.ErrorIs(t, err, context.Canceled)
}

// A fault of the next message affects only that message.
func TestFaultOfNextMessage(t *testing.T) {
	before := run(t, worst)
	lost := run(t, strings.Replace(worst, "run 1s\n", "run 999ms\ndrop-next n1 n2 election\nrun 1ms\n", 1))
	require.Equal(t, "lost", lost.Messages[0].Lost)
	require.Equal(t, before.Messages[1].Ended, lost.Messages[1].Ended)
	late := run(t, strings.Replace(worst, "run 1s\n", "run 999ms\ndelay-next n1 n2 election 25ms\nrun 1ms\n", 1))
	require.Equal(t, 25*time.Millisecond, late.Messages[0].Ended-late.Messages[0].Sent)
	require.Equal(t, before.Messages[1].Ended, late.Messages[1].Ended)
	for _, command := range []string{"drop-next n1 n1 election", "drop-next n1 n2 greeting", "delay-next n1 n9 election 1s"} {
		r := run(t, worst+command+"\n")
		require.NotNil(t, r.Failure, command)
		require.Contains(t, r.Failure.Text, "want ")
	}
}
