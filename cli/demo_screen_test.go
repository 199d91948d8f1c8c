package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/proccluster"
)

func someStates() []proccluster.State {
	return []proccluster.State{
		{Name: "n1", ProcState: proccluster.Up, ReadyAt: 1, Addr: "127.0.0.1:1", Pid: 11, Leader: "n3", LeaderID: "c", Epoch: 7, Sent: map[string]int{"a": 1, "b": 2}},
		{Name: "n2", ProcState: proccluster.Up, ReadyAt: 1, Addr: "127.0.0.1:2", Pid: 12},
		{Name: "n3", ProcState: proccluster.Up, ReadyAt: 1, Addr: "127.0.0.1:3", Pid: 13, Leader: "n3", LeaderID: "c", Epoch: 7, IsLeader: true},
		{Name: "n4", ProcState: proccluster.Paused, ReadyAt: 1, Addr: "127.0.0.1:4", Pid: 14, Leader: "n4", LeaderID: "d", Epoch: 6, IsLeader: true},
		{Name: "n5", ProcState: proccluster.Down, ReadyAt: 1, Addr: "127.0.0.1:5", Pid: 15, Leader: "n4", LeaderID: "d", Epoch: 6},
		{Name: "n6", ProcState: proccluster.Up, Addr: "127.0.0.1:0", Pid: 16},
	}
}

func TestDemoTableShowsStateOfEachNode(t *testing.T) {
	rows := table(someStates())
	for i, want := range []string{
		"NODE STATE LEADER EPOCH SENT ADDRESS PID",
		"n1 follower n3 7 3 127.0.0.1:1 11",
		"n2 electing - - 0 127.0.0.1:2 12",
		"n3 leader n3 7 0 127.0.0.1:3 13",
		"n4 paused - - 0 127.0.0.1:4 14",
		"n5 down - - - 127.0.0.1:5 -",
		"n6 starting - - 0 127.0.0.1:0 16",
	} {
		require.Equal(t, want, strings.Join(strings.Fields(rows[i]), " "))
		require.Equal(t, strings.Index(rows[0], "ADDRESS"), strings.Index(rows[i], strings.Fields(rows[i])[5]), "columns are aligned")
	}
}

func TestDemoPictureFitsTerminal(t *testing.T) {
	s := &screen{title: "a title", last: someStates()}
	for i := range 30 {
		s.notes = append(s.notes, span{fmt.Sprintf("note %d", i), ""})
		for height := 4; height < 60; height++ {
			picture := s.picture(80, height)
			require.LessOrEqual(t, len(picture), height)
			require.Equal(t, fmt.Sprintf("note %d", i), picture[len(picture)-1].text, "the newest is always seen")
			if height > 40 {
				require.Equal(t, " a title", picture[1].text)
			}
		}
	}
	for width := 20; width < 50; width++ {
		for length := range 60 {
			line := cut(span{strings.Repeat("é", length), bold}, width)
			require.Equal(t, min(length, width), utf8.RuneCountInString(line.text))
			require.Equal(t, bold, line.look)
		}
	}
}

// The costs of a round are one long line. Wrapping must lose no word of it.
func TestDemoLinesAreWrapped(t *testing.T) {
	said := marks[good] + "n5 is back and takes over in epoch 12, after 12.4 ms, 14 messages (5 elected, 9 election)."
	for width := 20; width < 120; width++ {
		var words []string
		for i, line := range wrap(span{said, green}, width) {
			require.LessOrEqual(t, utf8.RuneCountInString(line.text), width)
			require.Equal(t, green, line.look)
			require.Equal(t, i > 0, strings.HasPrefix(line.text, "   "), "what follows is indented")
			words = append(words, strings.Fields(line.text)...)
		}
		require.Equal(t, strings.Fields(said), words)
	}
	require.Len(t, wrap(span{strings.Repeat("é", 100), ""}, 20), 6, "a word that is too long is broken: 20, and 17 in each line that follows")
	require.Equal(t, []span{{}}, wrap(span{}, 20))

	s := &screen{title: "a title", last: someStates(), notes: []span{{marks[plain] + runningHint, ""}}}
	picture := s.picture(80, 24)
	require.True(t, strings.HasSuffix(picture[len(picture)-1].text, " an address."), "a terminal of usual size shows it whole")
}

func TestDemoFarewellIsPrintedOnlyIfTrue(t *testing.T) {
	left := errors.New("proccluster: the folder cannot be removed")
	for _, tc := range []struct {
		err  error
		said bool
	}{
		{nil, true},
		{errInterrupted, true},
		{errors.Join(errInterrupted, nil), true},
		{errors.Join(fmt.Errorf("start n1: %w", errInterrupted), errInterrupted), true},
		{left, false},
		{errors.Join(errInterrupted, left), false},
		{errors.Join(errors.Join(errInterrupted, left)), false},
	} {
		var out strings.Builder
		(&lines{out: &out}).stop(tc.err, []string{farewell})
		require.Equal(t, tc.said, strings.Contains(out.String(), farewell), "%v", tc.err)
		file, err := os.Create(filepath.Join(t.TempDir(), "screen"))
		require.NoError(t, err)
		newScreen(file).stop(tc.err, []string{farewell})
		require.NoError(t, file.Close())
		drawn, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		require.Equal(t, tc.said, strings.Contains(string(drawn), "nothing is left behind"), "%v", tc.err)
	}
}

func TestMessagesAreDescribedByKind(t *testing.T) {
	for want, messages := range map[string]map[string]int{
		"no messages":                      nil,
		"1 message (1 coordinator)":        {"coordinator": 1},
		"5 messages (2 answer, 3 elected)": {"elected": 3, "answer": 2},
	} {
		if got := describeMessages(messages); got != want {
			t.Errorf("describeMessages(%v) = %q, want %q", messages, got, want)
		}
	}
	for want, d := range map[string]time.Duration{"0.0 ms": 0, "1.3 ms": 1260 * time.Microsecond, "99.9 ms": 99900 * time.Microsecond, "340 ms": 340 * time.Millisecond} {
		if got := inMS(d); got != want {
			t.Errorf("inMS(%v) = %q, want %q", d, got, want)
		}
	}
}
