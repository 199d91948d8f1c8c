package scenario

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/untrusted"
)

// Host is what the commands of a scenario happen to.
type Host interface {
	// Do performs a command: all but those that ask for what must hold, await excepted.
	Do(l *Line) error
	// Opinions are whom the nodes follow, the first node first.
	Opinions() []Opinion
	// Broken is what was broken so far.
	Broken() []Broken
}

// Opinion is whom a node follows, by number.
type Opinion struct {
	Leader       int // 0 for nobody
	Epoch        algo.Epoch
	Down, Paused bool
}

// Follows says in words whom a node follows; an empty leader is nobody.
func Follows(node, leader string, e algo.Epoch) string {
	switch leader {
	case "":
		return "follows nobody"
	case node:
		return fmt.Sprintf("leads in epoch %d", e)
	}
	return fmt.Sprintf("follows %s in epoch %d", leader, e)
}

// Opinions says in words whom all nodes follow, or the first 20.
func Opinions(all []Opinion) string {
	var said []string
	for i, o := range all[:min(len(all), 20)] {
		name, leader, more := fmt.Sprint("n", i+1), "", ""
		if o.Leader > 0 {
			leader = fmt.Sprint("n", o.Leader)
		}
		follows := Follows(name, leader, o.Epoch)
		if o.Down {
			follows = "is down"
		}
		if o.Paused {
			more = ", paused"
		}
		said = append(said, name+" "+follows+more)
	}
	if len(all) > len(said) {
		said = append(said, "and so on")
	}
	return strings.Join(said, "; ")
}

// Agreed is whom all nodes that run follow, if it runs; with no leader, nobody.
func Agreed(all []Opinion) (common Opinion) {
	for _, o := range all {
		switch {
		case o.Down || o.Paused:
		case o.Leader == 0 || common.Leader > 0 && (o.Leader != common.Leader || o.Epoch != common.Epoch):
			return Opinion{}
		default:
			common = o
		}
	}
	if n := common.Leader; n == 0 || n > len(all) || all[n-1].Down || all[n-1].Paused {
		return Opinion{}
	}
	return common
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
	said   []string // by the line that is under way
	differ error
	err    error
}

// Transcript begins one. If it checks, what is said must be what the scenario says.
func (f *File) Transcript(out io.Writer, checks bool) *Transcript {
	return &Transcript{file: f, out: out, checks: checks && f.expects}
}

// Wanted reports whether anybody reads it.
func (t *Transcript) Wanted() bool { return t.out != nil || t.checks }

func (t *Transcript) write(text string) {
	if t.out != nil && t.err == nil {
		_, t.err = io.WriteString(t.out, text+"\n")
	}
}

// Say adds a line of output.
func (t *Transcript) Say(format string, args ...any) {
	if t.Wanted() {
		text := Output(fmt.Sprintf(format, args...))
		t.write(text)
		t.said = append(t.said, strings.TrimSpace(text[1:]))
	}
}

// Output is a text as a line of output.
func Output(text string) string { return strings.TrimRight("> "+untrusted.Printable(text), " ") }

// compare ends a line: what it has said must be what it is to say.
func (t *Transcript) compare(l *Line) {
	said := t.said
	t.said = nil
	if !t.checks || t.differ != nil {
		return
	}
	for i := range max(len(said), len(l.want)) {
		switch {
		case i == len(l.want):
			t.differ = t.file.Error(l, nil, fmt.Errorf("%w: there is now also: %s", ErrOutput, said[i]))
			return
		case i == len(said):
			said = append(said, "nothing more")
			fallthrough
		case said[i] != l.want[i].Text:
			t.differ = t.file.Error(&l.want[i], nil, fmt.Errorf("%w: it is now: %s", ErrOutput, said[i]))
			return
		}
	}
}

// Run runs all commands. Its error is the first [Error], or that of the writer.
func (f *File) Run(h Host, t *Transcript) error {
	var open []Broken // and not known
	var by *Line
	told := 0 // of what was broken
	for i := range f.Lines {
		l := &f.Lines[i]
		known := l.Form != nil && l.Form.Verb() == "broken"
		if len(open) > 0 && l.Form != nil && !known {
			break
		}
		t.write(l.Text)
		switch {
		case l.Form == nil || l.head:
		case known:
			left := slices.DeleteFunc(slices.Clone(open), func(b Broken) bool { return b.Property == l.Args[0].Text })
			if len(left) == len(open) {
				return f.Error(l, nil, fmt.Errorf("%w: nothing of that kind was broken by what was done last", ErrExpected))
			}
			open = left
		default:
			if err := do(h, l); err != nil {
				return f.Error(l, nil, err)
			}
			for _, b := range h.Broken()[told:] {
				t.Say("%v", b)
				open, by, told = append(open, b), l, told+1
			}
		}
		t.compare(l)
	}
	switch {
	case len(open) > 0:
		return f.Error(by, nil, fmt.Errorf("%w: %s: %s", ErrExpected, open[0].Property, open[0].Text))
	case t.err != nil:
		return t.err
	}
	return t.differ
}

// do performs a command, or asks whether what it says holds.
func do(h Host, l *Line) error {
	if !l.Form.Asks() {
		return h.Do(l)
	}
	all := h.Opinions()
	holds, wanted := false, &l.Args[len(l.Args)-1]
	switch l.Form.Usage {
	case "leader NODE":
		holds = Agreed(all).Leader == wanted.Node
	case "leader none":
		holds = !slices.ContainsFunc(all, func(o Opinion) bool { return o.Leader > 0 && !o.Down })
	case "follows NODE LEADER", "follows NODE none":
		n := l.Args[0].Node
		holds = n <= len(all) && !all[n-1].Down && all[n-1].Leader == wanted.Node
	case "epoch COUNT":
		common := Agreed(all)
		holds = common.Leader > 0 && common.Epoch == algo.Epoch(wanted.Count)
	}
	if !holds {
		return fmt.Errorf("%w: %s", ErrExpected, Opinions(all))
	}
	return nil
}
