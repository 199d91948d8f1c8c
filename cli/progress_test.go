package cli

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/testkit"
)

// onTerminal returns a line on a terminal with the given number of columns.
func onTerminal(out *strings.Builder, columns int) progressLine {
	return progressLine{out: out, width: func() int { return columns }}
}

func TestProgressLineIsRedrawnOnTerminal(t *testing.T) {
	for _, tc := range []struct {
		columns int
		want    string
	}{
		{1, "\r…\x1b[K"}, {2, "\r…\x1b[K"}, {5, "\rhal…\x1b[K"}, {13, "\rhalf is done\x1b[K"}, {200, "\rhalf is done\x1b[K"},
	} {
		var out strings.Builder
		line := onTerminal(&out, tc.columns)
		line.say("half is done")
		require.Equal(t, tc.want, out.String(), "of %d columns", tc.columns)
		line.wipe()
		line.wipe()
		require.Equal(t, tc.want+"\r\x1b[K", out.String())
	}
}

func TestProgressLineInPipeStays(t *testing.T) {
	var out strings.Builder
	line := newProgressLine(&out)
	line.say("half is done")
	line.wipe()
	require.Equal(t, "half is done\n", out.String())
}

// shownFor returns the progress output of an action with the given duration.
func shownFor(t *testing.T, line func(*strings.Builder) progressLine, lasts time.Duration, text func(time.Duration) string) string {
	var out strings.Builder
	synctest.Test(t, func(*testing.T) {
		p := newProgress(line(&out), text)
		testkit.Advance(lasts)
		p.end()
	})
	return out.String()
}

func inPipe(out *strings.Builder) progressLine { return newProgressLine(out) }

// progressLines matches the progress of searches, walks and runs of many seeds.
var progressLines = regexp.MustCompile(`(?m)^(\S+: .* MiB|\d+ of \d+ seeds, \d+ failed)\n`)

// withoutProgress removes progress lines, which only a slow machine prints.
func withoutProgress(stderr string) string { return progressLines.ReplaceAllString(stderr, "") }

func TestProgressInPipeBecomesRarer(t *testing.T) {
	lines := strings.Fields(shownFor(t, inPipe, 5*time.Minute, func(since time.Duration) string { return since.String() }))
	require.Equal(t, []string{"1s", "2s", "4s", "8s", "16s", "32s", "1m4s", "2m4s", "3m4s", "4m4s"}, lines)
	require.Empty(t, shownFor(t, inPipe, time.Minute, func(time.Duration) string { return "" }), "there is nothing to say")
}

func TestProgressNoteIsNotWiped(t *testing.T) {
	var out strings.Builder
	synctest.Test(t, func(*testing.T) {
		p := newProgress(onTerminal(&out, 80), func(time.Duration) string { return "x" })
		testkit.Advance(300 * time.Millisecond)
		p.note("this stays")
		testkit.Advance(200 * time.Millisecond)
		p.end()
	})
	require.Equal(t, "\rx\x1b[K\r\x1b[Kthis stays\n\rx\x1b[K\r\x1b[K", out.String())
}

func TestSeedsReportProgress(t *testing.T) {
	all := new(seeds)
	all.result.Seeds, all.result.Failed = 12, 1
	text := func(time.Duration) string { return all.text(100) }
	require.Equal(t, "12 of 100 seeds, 1 failed\n", shownFor(t, inPipe, 1500*time.Millisecond, text))
	narrow := func(out *strings.Builder) progressLine { return onTerminal(out, 11) }
	require.Equal(t, "\r12 of 100…\x1b[K\r12 of 100…\x1b[K\r\x1b[K", shownFor(t, narrow, 500*time.Millisecond, text))
}

// A search reports its latest counts.
func TestSearchReportsProgress(t *testing.T) {
	s := new(searched)
	require.Empty(t, s.text(time.Second))
	s.update(explore.Progress{States: 1, Elapsed: time.Second})
	s.update(explore.Progress{States: 1234567, Generated: 7654321, Depth: 12, Waiting: 999, Bytes: 5 << 20, Elapsed: 2 * time.Second})
	require.Equal(t, "3s: 1,234,567 states, 7,654,321 transitions, depth 12, 999 waiting, 5 MiB", s.text(3400*time.Millisecond))
	s.walk = true
	require.Equal(t, "3s: 7,654,321 steps, 5 MiB", s.text(3*time.Second))
}

// The bar names the step, not only the part.
func TestBarNamesCurrentStep(t *testing.T) {
	var out strings.Builder
	synctest.Test(t, func(*testing.T) {
		p := newBenchProgress(onTerminal(&out, 120))
		at := bench.Progress{Part: "elections in the simulator", Step: "elections of bully"}
		p.show(at)
		testkit.Advance(300 * time.Millisecond)
		at.Skipped = "x"
		p.show(at)
		p.end()
	})
	require.Equal(t, "\r"+bar(0, 0, "elections of bully")+"\x1b[K\r\x1b[Knot measured: x\n", out.String())
}
