package lab_test

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/docs/lessons"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/trace"
)

const choice = `# A choice
mode choice
algorithm bully
option head_start=0s
start-agreed
cluster 3
`

func lines(r *lab.Result, moment int) (all []string) {
	for _, id := range r.Next[moment] {
		all = append(all, r.Choices[id].Line)
	}
	return all
}

// A run of mode choice has states, messages and choices at each moment, also before the first step.
func TestModeChoice(t *testing.T) {
	r := run(t, choice)
	require.Equal(t, lab.ModeChoice, r.Mode)
	require.Equal(t, "A choice", r.Title)
	require.Equal(t, "bully", r.Algorithm)
	require.Empty(t, r.Steps)
	require.Len(t, r.Next, 1)
	require.Contains(t, lines(r, 0), "crash n3")
	require.Contains(t, lines(r, 0), "suspect n1 n3 wrongly")
	require.Contains(t, r.Spans, lab.Span{Node: 2, Kind: "leads", Epoch: 1, To: 1})
	require.Contains(t, r.States[r.Nodes[0].State], "n3")
	require.Contains(t, r.Timers, lab.Timer{Node: 2, Name: "announce", Until: -1, First: -1, Last: -1})

	r = run(t, choice+"# and so\ncrash n3\nsuspect n1 n3\ndrop n1 n2 election epoch=1\nleader none\n")
	require.NotNil(t, r.Failure, "n2 still follows n3")
	require.Equal(t, 11, r.Failure.Line)
	r = run(t, choice+"# and so\ncrash n3\nsuspect n1 n3\ndrop n1 n2 election epoch=1\n")
	require.Nil(t, r.Failure)
	require.Len(t, r.Steps, 3)
	require.Len(t, r.Next, 4)
	require.Equal(t, []int{8, 9, 10}, []int{r.Steps[0].Line, r.Steps[1].Line, r.Steps[2].Line})
	require.Equal(t, []trace.Kind{trace.Crash, trace.Suspect, trace.Drop}, []trace.Kind{r.Steps[0].Kind, r.Steps[1].Kind, r.Steps[2].Kind})
	require.Equal(t, -1, r.Steps[0].After)
	require.NotEqual(t, r.Steps[1].Before, r.Steps[1].After)
	require.Equal(t, "lost", r.Messages[r.Steps[2].Message].Lost)
	require.Equal(t, 1, r.Messages[r.Steps[2].Message].To)
	require.Contains(t, lines(r, 2), "deliver n1 n2 election epoch=1")
	require.NotContains(t, lines(r, 3), "deliver n1 n2 election epoch=1")
	require.Contains(t, lines(r, 3), "expire n1 answer")
	require.Contains(t, lines(r, 3), "restart n3")
	require.Contains(t, r.Timers, lab.Timer{Node: 2, Name: "announce", Until: -1, First: -1, Last: -1}, "it ends with its node")
	require.Contains(t, r.Timers, lab.Timer{Node: 0, Name: "answer", Until: -1, First: 1, Last: 2})
	i := slices.IndexFunc(r.Choices, func(c lab.Choice) bool { return c.Line == "deliver n1 n2 election epoch=1" })
	require.Equal(t, lab.Choice{
		Line: r.Choices[i].Line, Kind: "deliver", Node: 1, Peer: 0, Message: "election", Fields: []lab.Field{{Name: "Epoch", Value: "1"}}, Changes: true,
	}, r.Choices[i])
	require.Equal(t, r.Choices[i].Fields, r.Messages[r.Steps[2].Message].Fields, "so a page finds the message of a choice")
}

// A run of any choices can be replayed from its recorded text, whatever it violates.
func TestRecordedRunIsReplayed(t *testing.T) {
	for _, algorithm := range []string{"bully", "ring", "vote", "textbook-bully", "textbook-ring", "textbook-vote"} {
		text := "mode choice\nalgorithm " + algorithm + "\ncluster 3\n"
		for i := range 40 {
			r := run(t, text)
			require.Nil(t, r.Failure, algorithm)
			require.Len(t, r.Steps, i)
			all := lines(r, i)
			require.NotEmpty(t, all)
			text = r.Scenario + all[i*7%len(all)] + "\n"
		}
		r := run(t, text)
		parsed, err := explore.ParseScenario("recorded", r.Recorded, func(name string, options []algo.Setting) (algo.Spec, error) {
			return build(name, algo.Timing{}, options)
		})
		require.NoError(t, err)
		replayed, err := parsed.Replay()
		require.NoError(t, err, algorithm)
		require.Equal(t, r.Recorded, replayed.Text)
		again := run(t, r.Recorded)
		again.Scenario, again.Recorded = r.Scenario, r.Recorded
		for i := range again.Steps {
			again.Steps[i].Line = r.Steps[i].Line // the recorded text has lines for violations, too
		}
		require.Equal(t, r, again)
	}
}

func find(t *testing.T, scenario string, f lab.Find) *lab.Result {
	t.Helper()
	r, err := lab.Run(t.Context(), lab.Request{Scenario: scenario, Find: &f}, build)
	require.NoError(t, err)
	requireConsistent(t, r)
	require.NotNil(t, r.Found)
	return r
}

// A search continues from the end of a scenario, and adds the shortest sequence of steps that it finds.
func TestFind(t *testing.T) {
	r := find(t, choice+"suspect n1 n3 wrongly\n", lab.Find{Property: "one-leader-per-epoch"})
	require.Equal(t, 1, r.Found.After)
	require.Equal(t, "n1 and n2 both lead in epoch 2", r.Found.Text)
	require.Len(t, r.Steps, 4)
	require.True(t, strings.HasPrefix(r.Scenario, choice[:strings.Index(choice, "cluster")]), r.Scenario)
	i := slices.IndexFunc(r.Properties, func(p lab.Property) bool { return p.Name == "one-leader-per-epoch" })
	require.Equal(t, 3, r.Properties[i].Step)

	// The property is checked, and so are the claimed ones.
	r = find(t, choice, lab.Find{Property: "single-leader", FalseSuspicions: 1})
	require.Zero(t, r.Found.After)
	require.Len(t, r.Steps, 1)
	require.Contains(t, r.Scenario, "property no-phantom\n")
	require.Contains(t, r.Recorded, "\nviolates single-leader\n")

	same := r.Scenario
	r = find(t, same, lab.Find{Property: "no-phantom"})
	require.Empty(t, r.Found.Text)
	require.True(t, r.Found.Complete)
	require.Empty(t, r.Found.Cut)
	require.Equal(t, same, r.Scenario)

	// A goal is an assertion, which stands at the end of the scenario.
	r = find(t, choice, lab.Find{Goal: "follows n1 n1", Crashes: 1, FalseSuspicions: 1})
	require.Equal(t, "follows n1 n1", r.Found.Text)
	require.Len(t, r.Steps, 2)
	require.True(t, strings.HasSuffix(r.Scenario, "\nfollows n1 n1\n"), r.Scenario)
	require.Nil(t, r.Failure)

	r = find(t, "mode choice\nalgorithm vote\ncluster 5\n", lab.Find{Property: "one-leader-per-epoch", Crashes: 3, Epochs: 9})
	require.Empty(t, r.Found.Text)
	require.False(t, r.Found.Complete)
	require.Contains(t, r.Found.Cut, "the limit of ")

	for _, f := range []lab.Find{{Property: "peace"}, {Property: "agreement", Crashes: -1}, {Goal: "peace"}, {}} {
		_, err := lab.Run(t.Context(), lab.Request{Scenario: choice, Find: &f}, build)
		require.ErrorIs(t, err, explore.ErrOptions)
	}
	_, err := lab.Run(t.Context(), lab.Request{Scenario: "cluster 3\nrun 1s\n", Find: &lab.Find{Property: "agreement"}}, build)
	require.ErrorContains(t, err, "mode choice")
}

func TestLimitOfChoices(t *testing.T) {
	text := "mode choice\nalgorithm bully\nstart-agreed\ncluster 8\n" + strings.Repeat("expire n8 announce\n", 3400)
	_, err := lab.Run(t.Context(), lab.Request{Scenario: text}, build)
	require.ErrorIs(t, err, lab.ErrLimit)
	require.ErrorContains(t, err, "choices")
}

func TestStepThatIsImpossible(t *testing.T) {
	r := run(t, choice+"crash n3\ncrash n3\n")
	require.Equal(t, 8, r.Failure.Line)
	require.Contains(t, r.Failure.Text, "possible are: restart n3")
	require.Len(t, r.Steps, 1)
	_, err := lab.Run(t.Context(), lab.Request{Scenario: "mode choice\ncluster 3\n"}, build)
	require.ErrorContains(t, err, "algorithm NAME")
	_, err = lab.Run(t.Context(), lab.Request{Scenario: "mode choice\nalgorithm bully\ncluster 9\n"}, build)
	require.ErrorContains(t, err, "between 1 and 8")
}

// A formula is shown if the run is an election of the theory, and it gives the number of messages that were sent.
func TestTheory(t *testing.T) {
	r := run(t, worst)
	require.NotNil(t, r.Theory)
	require.Equal(t, "N²−N−1", r.Theory.Sent)
	require.Equal(t, 19., r.Theory.SentAt)
	require.Equal(t, "2T+RTT", r.Theory.Lasts)
	require.Equal(t, 4., r.Theory.LastsAt)
	require.Equal(t, "N = 5, RTT = 2T", r.Theory.Symbols)
	require.Equal(t, trace.Suspect, r.Steps[r.Theory.StartedAt].Kind)

	for _, change := range []struct{ name, old, new string }{
		{"another fault", "run 200ms", "run 20ms\ncrash n4\nrun 180ms"},
		{"another delay", "delay 10ms", "delay 10ms..12ms"},
		{"the highest runs", "cluster 5", "cluster 5 5 4 3 2 1"},
		{"no T", ", T = 10ms", ""},
		{"two suspect at different times", "run 200ms", "run 10ms\nsuspect n2 n5\nrun 190ms"},
	} {
		text := strings.Replace(worst, change.old, change.new, 1)
		require.NotEqual(t, worst, text)
		require.Nil(t, run(t, text).Theory, change.name)
	}

	known := 0
	files, err := fs.Glob(lessons.Files, "scenarios/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		text, err := fs.ReadFile(lessons.Files, file)
		require.NoError(t, err)
		r, err := lab.Run(t.Context(), lab.Request{Scenario: string(text)}, build)
		require.NoError(t, err)
		if r.Theory == nil {
			continue
		}
		known++
		sent := 0
		for _, m := range r.Messages {
			if !m.Repeat {
				sent++
			}
		}
		require.InDelta(t, r.Theory.SentAt, sent, 1e-9, "%s: %s", file, r.Theory.Case)
	}
	require.GreaterOrEqual(t, known, 4)
}

// The timers of a node are those that were set and have neither ended nor been stopped.
func TestTimers(t *testing.T) {
	r := run(t, worst)
	byName := func(node int, name string) (all []lab.Timer) {
		for _, timer := range r.Timers {
			if timer.Node == node && timer.Name == name {
				all = append(all, timer)
			}
		}
		return all
	}
	answer := byName(0, "answer")
	require.Len(t, answer, 1)
	require.Equal(t, trace.Suspect, r.Steps[answer[0].First].Kind)
	stopped := r.Steps[answer[0].Last+1]
	require.LessOrEqual(t, stopped.At, answer[0].Until, "an answer has stopped it")
	own := slices.IndexFunc(r.Steps[answer[0].Last+1:], func(s lab.Step) bool { return s.Node == 0 })
	require.Contains(t, r.Steps[answer[0].Last+1+own].Notes, "timer answer is stopped")
	last := byName(3, "answer")
	require.Len(t, last, 1)
	ends := slices.IndexFunc(r.Steps, func(s lab.Step) bool { return s.Node == 3 && s.Kind == trace.Expire })
	require.Equal(t, ends-1, last[0].Last)
	require.Equal(t, r.Steps[ends].At, last[0].Until)
}

// The trace of a live cluster is a run without states.
func TestTraceOfLiveCluster(t *testing.T) {
	n1, n2 := algo.NodeID{0: 9, 6: 0x40, 8: 0x80}, algo.NodeID{0: 3, 6: 0x40, 8: 0x80}
	var text strings.Builder
	out := trace.NewJSON(&text)
	const start = 1_000_000_000_000
	message := trace.ReadMessage{Name: "coordinator", Body: json.RawMessage(`{"epoch":2,"leader":"` + n1.String() + `"}`)}
	for _, e := range []trace.Event{
		{At: start, Node: n1, Kind: trace.Ready, Format: "127.0.0.1:7400"},
		{At: start + 1, Node: n1, Kind: trace.Start, Epoch: 1},
		{At: start + 5, Node: n1, Kind: trace.Send, Peer: n2, Message: message},
		{At: start + 5, Node: n1, Kind: trace.Announce, Leader: algo.Leader{Epoch: 2, ID: n1}},
		{At: start, Node: n2, Kind: trace.Start, Epoch: 1}, // the file of another node
		{At: start + 3, Node: n2, Kind: trace.Suspect, Peer: n1, Format: n1.String() + " is silent"},
		{At: start + 8, Node: n2, Kind: trace.Deliver, Peer: n1, Message: message},
		{At: start + 8, Node: n2, Kind: trace.Announce, Leader: algo.Leader{Epoch: 2, ID: n1}},
	} {
		out.Event(e)
	}
	require.NoError(t, out.Err())
	r, err := lab.Run(t.Context(), lab.Request{Trace: text.String()}, build)
	require.NoError(t, err)
	requireConsistent(t, r)
	require.Equal(t, lab.ModeTrace, r.Mode)
	require.Equal(t, []lab.Node{{Name: "n1", ID: n2.String(), State: -1}, {Name: "n2", ID: n1.String(), State: -1}}, r.Nodes, "in the order of their IDs")
	require.Len(t, r.Messages, 1)
	m := r.Messages[0]
	require.Equal(t, []int{1, 0, 5, 8}, []int{m.From, m.To, int(m.Sent), int(m.Ended)})
	require.Equal(t, []lab.Field{{Name: "epoch", Value: "2"}, {Name: "leader", Value: "n2"}}, m.Fields)
	require.Contains(t, r.Spans, lab.Span{Node: 1, Kind: "leads", Epoch: 2, From: 5, To: 9})
	i := slices.IndexFunc(r.Steps, func(s lab.Step) bool { return s.Kind == trace.Suspect })
	require.Equal(t, "suspects n2: n2 is silent", r.Steps[i].Text)
	require.Empty(t, r.Properties)

	for bad, want := range map[string]string{
		"{}\n": "line 1 is no event", "\n\ncluster 3\n": "line 3 is no event", "\n": "the trace has no event",
		strings.Repeat("\n", lab.MaxTrace+1): "want at most 4194304",
	} {
		_, err := lab.Run(t.Context(), lab.Request{Trace: bad}, build)
		require.ErrorContains(t, err, want)
		require.Len(t, lab.Problems(err), 1)
	}
}
