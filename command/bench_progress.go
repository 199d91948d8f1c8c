package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// benchProgress says on stderr how far a measurement is: a terminal has a bar, a pipe a
// line for each part, and one every ten seconds.
type benchProgress struct {
	began time.Time

	mu    sync.Mutex
	line  progressLine
	what  string
	done  float64 // 0 to 1
	stop  chan struct{}
	ended sync.WaitGroup
}

func newBenchProgress(out io.Writer) *benchProgress { return showBench(newProgressLine(out)) }

// showBench shows it in a line.
func showBench(line progressLine) *benchProgress {
	p := &benchProgress{line: line, began: time.Now(), stop: make(chan struct{})}
	p.ended.Go(func() {
		ticker := time.NewTicker(p.line.period())
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.mu.Lock()
				p.say(p.what)
				p.mu.Unlock()
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// part begins a part: a line in a pipe. The bar of a terminal has what is done in it.
func (p *benchProgress) part(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line.inPlace() {
		name = p.what
	}
	p.say(name)
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
	p.line.note(fmt.Sprintf(format, args...))
}

// end takes the bar away.
func (p *benchProgress) end() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.wipe()
}

// say shows it; the caller holds the lock.
func (p *benchProgress) say(what string) {
	switch {
	case what == "":
	case p.line.inPlace():
		p.line.say(bar(p.done, time.Since(p.began), what))
	default:
		p.line.say(fmt.Sprintf("%3.0f %%  %s", 100*p.done, what))
	}
}

// bar is a line: how much is done, for how long it went on, and at what.
func bar(done float64, since time.Duration, what string) string {
	const cells = 24
	full := min(cells, int(done*cells))
	return fmt.Sprintf(" [%s%s] %3.0f %%  %v  %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), 100*done,
		since.Truncate(time.Second), what)
}
