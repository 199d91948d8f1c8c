package scenario

import (
	"fmt"
	"io"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/hostile"
)

// Host is what the commands of a scenario happen to.
type Host interface {
	// Do performs a command: all but those that ask for what must hold, await excepted.
	Do(l *Line) error
	// Leader is whom all nodes that run follow, by number.
	Leader() (leader int, epoch algo.Epoch, agreed bool)
	// Follows is whom one node follows, 0 for nobody; false while it does not run.
	Follows(node int) (leader int, runs bool)
	// Nodes is how many there are.
	Nodes() int
	// Opinions says in words whom each node follows.
	Opinions() string
	// Broken is what was broken since it was asked last.
	Broken() []Broken
}

// Broken is a property that does not hold, and how.
type Broken struct{ Property, Text string }

func (b Broken) String() string { return "broken: " + b.Property + ": " + b.Text }

// Transcript is a scenario as it is written while it runs: its lines as they are, and
// below them what they have to say now.
type Transcript struct {
	file   *File
	out    io.Writer // nil for nobody
	checks bool
	at     int // the line that is under way
	said   int // of its output
	differ error
	err    error
}

// Transcript begins one. If it checks, what is said must be what the scenario says.
func (f *File) Transcript(out io.Writer, checks bool) *Transcript {
	return &Transcript{file: f, out: out, checks: checks && f.expects}
}

// Wanted reports whether anybody reads it.
func (t *Transcript) Wanted() bool { return t.out != nil || t.checks }

func (t *Transcript) write(format string, args ...any) {
	if t.out != nil && t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
}

// Say adds a line of output.
func (t *Transcript) Say(format string, args ...any) {
	if !t.Wanted() {
		return
	}
	text := Output(fmt.Sprintf(format, args...))
	t.write("%s\n", text)
	t.compare(strings.TrimSpace(text[1:]))
	t.said++
}

// Output is a text as a line of output.
func Output(text string) string { return strings.TrimRight("> "+hostile.Plain(text), " ") }

// compare takes the next line of output; empty is the end of it.
func (t *Transcript) compare(text string) {
	if !t.checks || t.differ != nil || t.at >= len(t.file.Lines) {
		return
	}
	l := &t.file.Lines[t.at]
	if t.said < len(l.want) {
		if want := &l.want[t.said]; want.Text != text {
			if text == "" {
				text = "nothing more"
			}
			t.differ = t.file.Error(want, nil, fmt.Errorf("%w: it is now: %s", ErrOutput, text))
		}
	} else if text != "" {
		t.differ = t.file.Error(l, nil, fmt.Errorf("%w: there is now also: %s", ErrOutput, text))
	}
}

// begin writes a line.
func (t *Transcript) begin(i int) {
	if i > 0 {
		t.compare("")
	}
	t.at, t.said = i, 0
	if i < len(t.file.Lines) {
		t.write("%s\n", t.file.Lines[i].Text)
	}
}

// Run runs all commands. Its error is the first [Error], or that of the writer.
func (f *File) Run(h Host, t *Transcript) error {
	var open []Broken // and not known
	var by *Line
	begun := false
	for i := range f.Lines {
		l := &f.Lines[i]
		if begun = begun || l.Form != nil && l.Form.Verb() == Cluster; !begun || l.Form == nil {
			t.begin(i)
			continue
		}
		if l.Form.Verb() == "broken" {
			t.begin(i)
			left := open[:0]
			for _, b := range open {
				if b.Property != l.Args[0].Text {
					left = append(left, b)
				}
			}
			if len(left) == len(open) {
				return f.Error(l, nil, fmt.Errorf("%w: nothing of that kind was broken by what was done last", ErrExpected))
			}
			open = left
			continue
		}
		if len(open) > 0 {
			break
		}
		t.begin(i)
		if err := do(h, l); err != nil {
			return f.Error(l, nil, err)
		}
		for _, b := range h.Broken() {
			t.Say("%v", b)
			open, by = append(open, b), l
		}
	}
	if len(open) > 0 {
		return f.Error(by, nil, fmt.Errorf("%w: %s: %s", ErrExpected, open[0].Property, open[0].Text))
	}
	t.begin(len(f.Lines))
	if t.err != nil {
		return t.err
	}
	return t.differ
}

// do performs a command, or asks whether what it says holds.
func do(h Host, l *Line) error {
	holds := true
	switch l.Form.Usage {
	case "leader NODE":
		leader, _, agreed := h.Leader()
		holds = agreed && leader == l.Args[0].Node
	case "leader none":
		for n := range h.Nodes() {
			if follows, _ := h.Follows(n + 1); follows > 0 {
				holds = false
			}
		}
	case "follows NODE LEADER", "follows NODE none":
		follows, runs := h.Follows(l.Args[0].Node)
		holds = runs && follows == l.Args[1].Node
	case "epoch COUNT":
		_, epoch, agreed := h.Leader()
		holds = agreed && epoch == algo.Epoch(l.Args[0].Count)
	default:
		return h.Do(l)
	}
	if !holds {
		return fmt.Errorf("%w: %s", ErrExpected, h.Opinions())
	}
	return nil
}
