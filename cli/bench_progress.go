package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/bench"
)

// benchProgress prints the progress of a measurement to stderr: a bar on a terminal; in a pipe a line for each part,
// and some between.
type benchProgress struct {
	*progress
	mu   sync.Mutex
	last bench.Progress
}

func newBenchProgress(line progressLine) *benchProgress {
	b := new(benchProgress)
	b.progress = newProgress(line, b.text)
	return b
}

// show takes the current progress. A new part gets a line in a pipe. On a terminal, the bar shows the step.
func (b *benchProgress) show(now bench.Progress) {
	b.mu.Lock()
	began := now.Part != b.last.Part
	b.last = now
	b.mu.Unlock()
	if began && !b.inPlace() {
		b.note(percent(now.Done, now.Part))
	}
	if now.Skipped != "" {
		b.note("not measured: " + now.Skipped)
	}
}

func (b *benchProgress) text(since time.Duration) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.last.Step == "":
		return ""
	case b.inPlace():
		return bar(b.last.Done, since, b.last.Step)
	}
	return percent(b.last.Done, b.last.Step)
}

func percent(done float64, what string) string { return fmt.Sprintf("%3.0f %%  %s", 100*done, what) }

// bar formats a line with the share that is done, the elapsed time, and the step.
func bar(done float64, since time.Duration, what string) string {
	const cells = 24
	full := min(cells, int(done*cells))
	return fmt.Sprintf(" [%s%s] %3.0f %%  %v  %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), 100*done,
		since.Truncate(time.Second), what)
}
