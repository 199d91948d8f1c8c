package report

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/result"
)

// series is trials of one series, a round each.
func series(algorithm, n, metric string, values ...float64) []result.Trial {
	var all []result.Trial
	for at, value := range values {
		all = append(all, result.Trial{
			Group: result.Messages, Labels: map[string]string{result.Algorithm: algorithm, result.Case: "worst", result.Nodes: n},
			Round: at + 1, Values: map[string]float64{metric: value},
		})
	}
	return all
}

func runOf(trials ...[]result.Trial) *result.Run {
	return &result.Run{Format: result.Format, Trials: slices.Concat(trials...)}
}

func TestTheBestIsFirst(t *testing.T) {
	failover := series("ring", "9", "msgs/election", 1)
	failover[0].Group = result.Failover
	unlabelled := series("x", "9", "msgs/election", 1)
	delete(unlabelled[0].Labels, result.Algorithm)
	r := runOf(
		series("vote", "9", "msgs/election", 88, 88), series("bully", "9", "msgs/election", 71, 71), series("ring", "9", "msgs/election", 18, 26, 22),
		series("bully", "9", "T/election", 1), series("bully", "5", "msgs/election", 1), failover, unlabelled,
	)
	q := question{
		text: "Which costs fewest messages at N=9?", group: result.Messages, metrics: []string{"msgs/election"}, race: true,
		where: map[string]string{result.Nodes: "9"}, by: []string{result.Algorithm},
	}
	answer := q.table(r)
	require.Equal(t, []string{"algorithm", "msgs/election", "95 %", "min", "p90", "trials", "to the best"}, answer.Head)
	require.Equal(t, [][]string{
		{"ring", "22", "18 to 26", "18", "25.2", "3", "best"},
		{"bully", "71", "71 to 71", "71", "71", "2", "3.23"},
		{"vote", "88", "88 to 88", "88", "88", "2", "4"},
	}, answer.Rows)
	q.where = map[string]string{result.Nodes: "1000"}
	require.Empty(t, q.table(r).Rows)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAnAnswerIsWritten(t *testing.T) {
	r := runOf(series("vote", "9", "ms", 3, 3), series("bully", "9", "ms", 1.5, 1.5, 1.5), series("ring", "9", "ms", 1, 2, 2))
	var text bytes.Buffer
	q := question{text: "Which is fastest?", group: result.Messages, metrics: []string{"ms"}, race: true, by: []string{result.Algorithm, result.Nodes}}
	require.NoError(t, q.table(r).Write(&text))
	require.Equal(t, `Which is fastest?
  algorithm  n  ms   95 %        min  p90  trials  to the best
  bully      9  1.5  1.5 to 1.5  1.5  1.5  3       best
  ring       9  2    1 to 2      1    2    3       (1.33)
  vote       9  3    3 to 3      3    3    2       2
`, text.String())
	text.Reset()
	require.NoError(t, q.table(new(result.Run)).Write(&text))
	require.Equal(t, "Which is fastest?\n  no trial says\n", text.String())
	require.ErrorIs(t, q.table(r).Write(full{}), errFull)
	require.ErrorIs(t, WriteTables(full{}, r), errFull)
	require.ErrorIs(t, WritePage(full{}, r), errFull)
}

// TestMediansStandInTheOrderOfTheTrials: of several metrics, of which a trial may lack one.
func TestMediansStandInTheOrderOfTheTrials(t *testing.T) {
	r := runOf(series("vote", "9", "ms", 3, 9), series("bully", "9", "ms", 4), series("vote", "9", "T", 1))
	q := question{group: result.Messages, metrics: []string{"ms", "T"}, by: []string{result.Algorithm}, note: "so"}
	require.Equal(t, result.Table{Names: 1, Head: []string{"algorithm", "ms", "T", "trials"}, Note: "so", Rows: [][]string{
		{"vote", "6", "1", "3"}, {"bully", "4", "-", "1"},
	}}, q.table(r))
	q.worst = true
	require.Equal(t, [][]string{{"vote", "9", "1", "3"}, {"bully", "4", "-", "1"}}, q.table(r).Rows)
}

func TestStableLeadershipIsAskedForEachHost(t *testing.T) {
	var trials []result.Trial
	for at, host := range []string{simulator, simulator, "processes"} {
		trials = append(trials, result.Trial{Group: result.Stability, Round: at + 1, Values: map[string]float64{result.MetricEnds: float64(at)},
			Labels: map[string]string{result.Algorithm: "vote", result.Fault: "heal", result.Host: host, result.Nodes: "5"}})
	}
	all := tables(runOf(trials))
	require.Len(t, all, 2)
	require.Equal(t, "Is a leader that works left to work, at N=5 (simulator)?", all[0].Title)
	require.Equal(t, [][]string{{"heal", "vote", "1", "-", "-", "-", "-", "-", "-", "2"}}, all[0].Rows)
	require.Equal(t, [][]string{{"heal", "vote", "2", "-", "-", "-", "-", "-", "-", "1"}}, all[1].Rows)
}
