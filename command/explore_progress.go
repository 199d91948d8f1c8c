package command

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/elect-go/elect/explore"
)

// progress shows how far a search is: in a pipe in a line now and then, ever less often.
type progress struct {
	line progressLine
	walk bool
	next time.Duration // when the next line is due
}

// The time between two lines is doubled from the first to the last of these.
const (
	firstLine = time.Second
	mostQuiet = time.Minute
)

func newProgress(out io.Writer, walk bool) *progress {
	return &progress{line: newProgressLine(out), walk: walk, next: firstLine}
}

func (p *progress) show(now explore.Progress) {
	switch {
	case now.Elapsed < firstLine:
	case p.line.inPlace():
		p.line.say(p.text(now))
	case now.Elapsed >= p.next:
		p.line.say(p.text(now))
		p.next = now.Elapsed + min(p.next, mostQuiet)
	}
}

// end leaves nothing of it on a terminal.
func (p *progress) end() { p.line.wipe() }

func (p *progress) text(now explore.Progress) string {
	elapsed := now.Elapsed.Truncate(time.Second)
	if p.walk {
		return fmt.Sprintf("%v: %s steps, %s", elapsed, grouped(now.Generated), inMiB(now.Bytes))
	}
	return fmt.Sprintf("%v: %s states, %s transitions, depth %d, %s waiting, %s",
		elapsed, grouped(now.States), grouped(now.Generated), now.Depth, grouped(now.Waiting), inMiB(now.Bytes))
}

func inMiB(bytes int64) string { return grouped(int(bytes>>20)) + " MiB" }

// grouped writes a number in groups of three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
