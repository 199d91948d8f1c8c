package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress prints the progress of an action until it ends. On a terminal, it redraws one line in place. In a pipe, a
// file or a dumb terminal, it writes lines at growing intervals.
type progress struct {
	progressLine
	mu    sync.Mutex
	began time.Time
	stop  chan struct{}
	ended sync.WaitGroup
}

// The interval between two lines in a pipe doubles from firstLine to maxInterval.
const (
	firstLine   = time.Second
	maxInterval = time.Minute
)

// newProgress prints text repeatedly. It skips an empty text.
func newProgress(line progressLine, text func(since time.Duration) string) *progress {
	p := &progress{progressLine: line, began: time.Now(), stop: make(chan struct{})}
	p.ended.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		next := firstLine // when the next line is due
		for {
			select {
			case <-ticker.C:
			case <-p.stop:
				return
			}
			since := time.Since(p.began)
			if now := text(since); now != "" && (p.inPlace() || since >= next) {
				p.mu.Lock()
				p.say(now)
				p.mu.Unlock()
				next = since + min(next, maxInterval)
			}
		}
	})
	return p
}

// note writes a permanent line.
func (p *progress) note(text string) { p.pause(func() { fmt.Fprintln(p.out, text) }) }

// pause clears the line while print writes to the terminal.
func (p *progress) pause(print func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	print()
}

// end stops the progress. It clears the line on a terminal.
func (p *progress) end() {
	close(p.stop)
	p.ended.Wait()
	p.wipe()
}

// progressLine is the output of progress: a line of a terminal, or a pipe.
type progressLine struct {
	out   io.Writer
	width func() int // current width of the terminal; 0 if out cannot redraw a line
	drawn bool
}

func newProgressLine(out io.Writer) progressLine {
	width := func() int { return 0 }
	if redraws(out) {
		width = func() int {
			if columns, ok := terminalWidth(out); ok {
				return columns
			}
			return defaultWidth
		}
	}
	return progressLine{out: out, width: width}
}

// defaultWidth is assumed for a terminal that does not report its width.
const defaultWidth = 80

// inPlace reports whether the line is redrawn.
func (p *progressLine) inPlace() bool { return p.width() > 0 }

// say replaces the line on a terminal, or writes one more line.
func (p *progressLine) say(text string) {
	width := p.width()
	if width == 0 {
		fmt.Fprintln(p.out, text)
		return
	}
	// The last column stays free: some terminals would erase the character there.
	fmt.Fprintf(p.out, "\r%s\x1b[K", cut(span{text: text}, max(width-1, 1)).text)
	p.drawn = true
}

// wipe clears the line on a terminal.
func (p *progressLine) wipe() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// redraws reports whether w is a terminal that can draw in place.
func redraws(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// terminalWidth returns the number of columns if w is a terminal that reports it. Many terminals without a window
// report 0.
func terminalWidth(w io.Writer) (int, bool) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(file.Fd()))
	return width, err == nil && width > 0
}
