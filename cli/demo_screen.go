package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/elect-go/elect/internal/proccluster"
)

// frame is the time between two pictures. A reader could not follow faster changes.
const frame = 40 * time.Millisecond

// screen draws on a terminal: a table, redrawn in place, and the events below it.
type screen struct {
	out   *os.File
	color bool

	mu      sync.Mutex
	title   string
	cluster *proccluster.Cluster // nil before the nodes run
	last    []proccluster.State
	notes   []span
	drawn   int // lines of the last picture
	// status returns a line below the table; nil for none.
	status func() string

	quit chan struct{}
	done sync.WaitGroup
}

// span is a text with one look.
type span struct {
	text string
	look string // an SGR sequence, or empty
}

// looks of a text
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
)

var (
	marks = map[style]string{plain: "   ", good: " ✓ ", bad: " ✗ "}
	looks = map[style]string{plain: dim, good: green, bad: red}
)

func newScreen(out *os.File) *screen {
	return &screen{out: out, color: os.Getenv("NO_COLOR") == "", quit: make(chan struct{})}
}

func (s *screen) start(f *demoFlags) {
	s.title = title(f)
	fmt.Fprint(s.out, "\x1b[?25l") // no cursor
	s.draw()
}

func (s *screen) attach(f *proccluster.Cluster) {
	s.mu.Lock()
	s.cluster = f
	s.mu.Unlock()
	s.done.Go(func() {
		tick := time.NewTicker(frame)
		defer tick.Stop()
		changed := f.Changed()
		s.draw()
		for {
			select {
			case <-changed:
				changed = f.Changed() // before reading the states, so that no change is missed
				s.draw()
			case <-s.quit:
				return
			}
			select {
			case <-tick.C:
			case <-s.quit:
				return
			}
		}
	})
}

// detach keeps the last picture: the demonstration does not show the nodes stopping.
func (s *screen) detach() {
	close(s.quit)
	s.done.Wait()
	s.draw()
	s.mu.Lock()
	s.cluster = nil
	s.mu.Unlock()
}

func (s *screen) print(t style, _ []proccluster.State, format string, args ...any) {
	s.mu.Lock()
	s.notes = append(s.notes, span{marks[t] + fmt.Sprintf(format, args...), looks[t]})
	s.mu.Unlock()
	s.draw()
}

func (s *screen) wait(ctx context.Context, d time.Duration) error { return proccluster.Sleep(ctx, d) }

func (s *screen) printRunning([]proccluster.State) { s.print(plain, nil, runningHint) }

func (s *screen) stop(err error, closing []string) {
	if leftNothing(err) {
		for _, line := range closing {
			s.print(plain, nil, "%s", line)
		}
	}
	fmt.Fprint(s.out, "\x1b[?25h\n")
}

// draw replaces the picture.
func (s *screen) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width < 20 || height < 5 {
		width, height = 80, 24
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.drawn)
	}
	picture := s.picture(width, height-1)
	for _, line := range picture {
		s.write(&b, cut(line, width))
	}
	b.WriteString("\x1b[J") // what was below
	s.drawn = strings.Count(b.String(), "\n")
	fmt.Fprint(s.out, b.String())
}

func (s *screen) write(b *strings.Builder, line span) {
	if s.color && line.look != "" {
		b.WriteString(line.look + line.text + "\x1b[0m")
	} else {
		b.WriteString(line.text)
	}
	b.WriteString("\x1b[K\n")
}

// picture returns at most height lines: the table, and the newest notes that fit.
func (s *screen) picture(width, height int) []span {
	all := []span{{}, {" " + s.title, bold}, {}}
	if s.cluster != nil {
		s.last = s.cluster.States()
	}
	if s.last == nil {
		all = append(all, span{" starting ...", dim})
	} else {
		for i, row := range table(s.last) {
			look := dim
			if i > 0 {
				look = lookOf(s.last[i-1])
			}
			all = append(all, span{" " + row, look})
		}
	}
	if s.status != nil {
		all = append(all, span{}, span{" " + s.status(), bold})
	}
	all = append(all, span{})
	room := max(3, height-len(all))
	var noteLines []span
	for _, note := range s.notes[max(0, len(s.notes)-room):] {
		noteLines = append(noteLines, wrap(note, width)...)
	}
	all = append(all, noteLines[max(0, len(noteLines)-room):]...)
	return all[max(0, len(all)-height):]
}

// wrap breaks a note between words. Further lines are indented to the words after the mark.
func wrap(line span, width int) []span {
	indent := marks[plain]
	var lines []span
	for runes := []rune(line.text); ; {
		end := len(runes)
		if end > width {
			end = width
			for i := width; i > len(indent); i-- {
				if runes[i] == ' ' {
					end = i
					break
				}
			}
		}
		lines = append(lines, span{string(runes[:end]), line.look})
		rest := strings.TrimLeft(string(runes[end:]), " ")
		if rest == "" {
			return lines
		}
		runes = []rune(indent + rest)
	}
}

func lookOf(s proccluster.State) string {
	switch role(s) {
	case "leader":
		return bold + green
	case "follower":
		return ""
	case "electing", "starting":
		return yellow
	}
	return red
}

// cut shortens a line to the width of the terminal, because a wrapped line would take two.
func cut(line span, width int) span {
	if utf8.RuneCountInString(line.text) > width {
		line.text = string([]rune(line.text)[:width-1]) + "…"
	}
	return line
}
