package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// benchProgress says on stderr how far a measurement is: a terminal has a bar, that is drawn
// again in place; a pipe a line for each part, and one every ten seconds.
type benchProgress struct {
	out      io.Writer
	terminal bool
	began    time.Time

	mu    sync.Mutex
	what  string
	done  float64 // 0 to 1
	shown bool    // there is a bar on the terminal
	stop  chan struct{}
	ended sync.WaitGroup
}

func newBenchProgress(out io.Writer) *benchProgress {
	p := &benchProgress{out: out, began: time.Now(), stop: make(chan struct{})}
	every := 10 * time.Second
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		p.terminal, every = true, 200*time.Millisecond
	}
	p.ended.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.mu.Lock()
				p.say()
				p.mu.Unlock()
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// part begins a part: a line in a pipe.
func (p *benchProgress) part(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = name
	p.say()
}

// at says what is done now, and how much is done.
func (p *benchProgress) at(what string, done float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.done = what, done
}

// warn says a line that stays.
func (p *benchProgress) warn(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// end takes the bar away.
func (p *benchProgress) end() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
}

// say shows it; the caller holds the lock.
func (p *benchProgress) say() {
	if p.what == "" {
		return
	}
	if !p.terminal {
		fmt.Fprintf(p.out, "%3.0f %%  %s\n", 100*p.done, p.what)
		return
	}
	width := 80
	if file, ok := p.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(file.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	fmt.Fprintf(p.out, "\r%s\x1b[K", cut(span{text: bar(p.done, time.Since(p.began), p.what)}, width).text)
	p.shown = true
}

func (p *benchProgress) wipe() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// bar is a line: how much is done, for how long it went on, and at what.
func bar(done float64, since time.Duration, what string) string {
	const cells = 24
	full := min(cells, int(done*cells))
	return fmt.Sprintf(" [%s%s] %3.0f %%  %v  %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), 100*done,
		since.Truncate(time.Second), what)
}
