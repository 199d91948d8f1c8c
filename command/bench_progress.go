package command

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// benchProgress says on stderr how far a measurement is: a terminal has a bar, a pipe a
// line for each part, and some between.
type benchProgress struct {
	*progress
	mu   sync.Mutex
	what string
	done float64 // 0 to 1
}

func newBenchProgress(line progressLine) *benchProgress {
	b := new(benchProgress)
	b.progress = newProgress(line, b.text)
	return b
}

// part begins a part: a line in a pipe. The bar of a terminal has what is done in it.
func (b *benchProgress) part(name string) {
	if !b.inPlace() {
		b.note(percent(b.done, name))
	}
}

// at says what is done now, and how much is done.
func (b *benchProgress) at(what string, done float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what, b.done = what, done
}

func (b *benchProgress) text(since time.Duration) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.what == "":
		return ""
	case b.inPlace():
		return bar(b.done, since, b.what)
	}
	return percent(b.done, b.what)
}

func percent(done float64, what string) string { return fmt.Sprintf("%3.0f %%  %s", 100*done, what) }

// bar is a line: how much is done, for how long it went on, and at what.
func bar(done float64, since time.Duration, what string) string {
	const cells = 24
	full := min(cells, int(done*cells))
	return fmt.Sprintf(" [%s%s] %3.0f %%  %v  %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), 100*done,
		since.Truncate(time.Second), what)
}
