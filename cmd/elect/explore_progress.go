package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/elect-go/elect/explore"
)

// progress shows how far a search is: on a terminal in one line that is drawn again in
// place, else in a line now and then.
type progress struct {
	out   io.Writer
	walk  bool
	width func() (int, bool) // of the terminal, if it is one

	drawn bool
	next  time.Duration // when the next line is due
}

// The time between two lines is doubled from the first to the last of these.
const (
	firstLine = time.Second
	mostQuiet = time.Minute
)

func newProgress(out io.Writer, walk bool) *progress {
	width := func() (int, bool) { return terminalWidth(out) }
	if os.Getenv("TERM") == "dumb" {
		width = func() (int, bool) { return 0, false }
	}
	return &progress{out: out, walk: walk, width: width, next: firstLine}
}

func (p *progress) show(now explore.Progress) {
	if now.Elapsed < firstLine {
		return
	}
	text := p.text(now)
	if width, ok := p.width(); ok {
		fmt.Fprint(p.out, "\r"+cut(span{text: text}, width).text+"\x1b[K")
		p.drawn = true
		return
	}
	if now.Elapsed >= p.next {
		fmt.Fprintln(p.out, text)
		p.next = now.Elapsed + min(p.next, mostQuiet)
	}
}

// end leaves nothing of it on a terminal.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

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
