package command

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/virtual"
)

// onTerminal is a line on a terminal of so many columns.
func onTerminal(out *strings.Builder, columns int) progressLine {
	return progressLine{out: out, width: func() int { return columns }}
}

func TestALineOnATerminalIsDrawnInPlace(t *testing.T) {
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
		out.Reset()
		line.note("this stays")
		line.say("x")
		line.wipe()
		line.wipe()
		require.Equal(t, "\r\x1b[Kthis stays\n\rx\x1b[K\r\x1b[K", out.String())
	}
}

func TestALineInAPipeStays(t *testing.T) {
	var out strings.Builder
	line := newProgressLine(&out)
	line.say("half is done")
	line.note("this stays")
	line.wipe()
	require.Equal(t, "half is done\nthis stays\n", out.String())
}

func TestManySeedsSayHowFarTheyAre(t *testing.T) {
	show := func(line func(*strings.Builder) progressLine, lasts time.Duration) string {
		var out strings.Builder
		synctest.Test(t, func(*testing.T) {
			all := &seeds{}
			all.result.Seeds, all.result.Failed = 12, 1
			done := make(chan struct{})
			go func() { virtual.Pass(lasts); close(done) }()
			all.progress(line(&out), 100, done)
		})
		return out.String()
	}
	const text = "12 of 100 seeds, 1 failed"
	require.Equal(t, text+"\n"+text+"\n", show(func(out *strings.Builder) progressLine { return newProgressLine(out) }, 25*time.Second))
	require.Equal(t, "\r12 of 100…\x1b[K\r12 of 100…\x1b[K\r\x1b[K", show(func(out *strings.Builder) progressLine { return onTerminal(out, 11) }, 500*time.Millisecond))
}

// The bar says what is done, not only to which part it belongs.
func TestABarSaysTheStep(t *testing.T) {
	var out strings.Builder
	p := showBench(onTerminal(&out, 120))
	p.at("elections of bully", 0)
	p.part("elections in the simulator")
	p.warn("not measured: %s", "x")
	p.end()
	require.Equal(t, "\r"+bar(0, 0, "elections of bully")+"\x1b[K\r\x1b[Knot measured: x\n", out.String())
}
