package command

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress says how far something is, until it ends. A terminal has one line, that is drawn
// again in place; a pipe, a file or a terminal that cannot draw has lines that stay, ever
// fewer of them.
type progress struct {
	progressLine
	mu    sync.Mutex
	began time.Time
	stop  chan struct{}
	ended sync.WaitGroup
}

// The time between two lines that stay is doubled from the first to the last of these.
const (
	firstLine = time.Second
	mostQuiet = time.Minute
)

// newProgress shows a text, which may be empty while there is nothing to say.
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
				next = since + min(next, mostQuiet)
			}
		}
	})
	return p
}

// note writes a line that stays.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	fmt.Fprintln(p.out, text)
}

// end leaves nothing of the line on a terminal.
func (p *progress) end() {
	close(p.stop)
	p.ended.Wait()
	p.wipe()
}

// progressLine is where it is said.
type progressLine struct {
	out   io.Writer
	width func() int // of the terminal, which may change; 0 where nothing is drawn in place
	drawn bool
}

func newProgressLine(out io.Writer) progressLine {
	width := func() int { return 0 }
	if redraws(out) {
		width = func() int {
			if columns, ok := terminalWidth(out); ok {
				return columns
			}
			return usualWidth
		}
	}
	return progressLine{out: out, width: width}
}

// usualWidth is that of a terminal that does not say it.
const usualWidth = 80

// inPlace reports whether a line is drawn again.
func (p *progressLine) inPlace() bool { return p.width() > 0 }

// say replaces the line, or writes one more.
func (p *progressLine) say(text string) {
	width := p.width()
	if width == 0 {
		fmt.Fprintln(p.out, text)
		return
	}
	// The last column stays free: in it some terminals would rub out what was just written.
	fmt.Fprintf(p.out, "\r%s\x1b[K", cut(span{text: text}, max(width-1, 1)).text)
	p.drawn = true
}

// wipe leaves nothing of the line on a terminal.
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
