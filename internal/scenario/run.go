package scenario

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/untrusted"
)

// Executor performs the commands of a scenario.
type Executor interface {
	// Do performs any command that is not an assertion; see [Form.IsAssertion].
	Do(l *Line) error
	// Opinions returns the leader that each node follows, in the order of the nodes.
	Opinions() []Opinion
	// Violations returns all violations so far, in order.
	Violations() []Violation
}

// Opinion is the leader that a node follows.
type Opinion struct {
	Leader       int // number of the node; 0 for none
	Epoch        algo.Epoch
	Down, Paused bool
}

// Follows describes the leader that a node follows; empty for none.
func Follows(node, leader string, e algo.Epoch) string {
	switch leader {
	case "":
		return "follows no leader"
	case node:
		return fmt.Sprintf("leads in epoch %d", e)
	}
	return fmt.Sprintf("follows %s in epoch %d", leader, e)
}

// Opinions describes the leaders that the nodes follow, at most the first 20 nodes.
func Opinions(all []Opinion) string {
	var parts []string
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
		parts = append(parts, name+" "+follows+more)
	}
	if len(all) > len(parts) {
		parts = append(parts, "and so on")
	}
	return strings.Join(parts, "; ")
}

// Agreed returns the leader that all running nodes follow, if it runs; otherwise a zero Opinion.
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

// Violation is a property that does not hold, with a description.
type Violation struct{ Property, Text string }

func (v Violation) String() string { return "violation: " + v.Property + ": " + v.Text }

// Transcript writes a scenario while it runs: its lines, each followed by the output of this run.
type Transcript struct {
	// Declares adds a line "violates" for each violation that the file does not declare, instead of ending the run.
	Declares bool

	file     *File
	out      io.Writer // may be nil
	checks   bool
	output   []string // of the current line
	mismatch error    // first difference from the expected output
	err      error    // of out
}

// Transcript starts a transcript on out, which may be nil. If checks is set, the output must equal the
// expected output of the scenario.
func (f *File) Transcript(out io.Writer, checks bool) *Transcript {
	return &Transcript{file: f, out: out, checks: checks && f.expects}
}

// IsUsed reports whether the output is written or checked.
func (t *Transcript) IsUsed() bool { return t.out != nil || t.checks }

func (t *Transcript) write(text string) {
	if t.out != nil && t.err == nil {
		_, t.err = io.WriteString(t.out, text+"\n")
	}
}

// Print adds a line of output.
func (t *Transcript) Print(format string, args ...any) {
	if t.IsUsed() {
		text := Output(fmt.Sprintf(format, args...))
		t.write(text)
		t.output = append(t.output, strings.TrimSpace(text[1:]))
	}
}

// Output formats a text as a line of output.
func Output(text string) string { return strings.TrimRight("> "+untrusted.Printable(text), " ") }

// compare checks the output of a finished line against its expected output.
func (t *Transcript) compare(l *Line) {
	output := t.output
	t.output = nil
	if !t.checks || t.mismatch != nil {
		return
	}
	for i := range max(len(output), len(l.want)) {
		switch {
		case i == len(l.want):
			t.mismatch = t.file.Error(l, nil, fmt.Errorf("%w: there is now also: %s", ErrOutput, output[i]))
			return
		case i == len(output):
			output = append(output, "nothing more")
			fallthrough
		case output[i] != l.want[i].Text:
			t.mismatch = t.file.Error(&l.want[i], nil, fmt.Errorf("%w: it is now: %s", ErrOutput, output[i]))
			return
		}
	}
}

// declare writes a line for each property that is violated. It returns an empty list.
func (t *Transcript) declare(all []Violation) []Violation {
	var written []string
	for _, v := range all {
		if !slices.Contains(written, v.Property) {
			written = append(written, v.Property)
			t.write("violates " + v.Property)
		}
	}
	return all[:0]
}

// Run runs all commands. Its error is the first [Error], or the error of the writer.
func (f *File) Run(e Executor, t *Transcript) error {
	var undeclared []Violation
	var cause *Line // of the undeclared violations
	handled := 0    // violations of e
	for i := range f.Lines {
		l := &f.Lines[i]
		declares := l.Form != nil && l.Form.Verb() == "violates"
		if len(undeclared) > 0 && l.Form != nil && !declares {
			if !t.Declares {
				break
			}
			undeclared = t.declare(undeclared)
		}
		t.write(l.Text)
		switch {
		case l.Form == nil || l.head:
		case declares:
			others := slices.DeleteFunc(slices.Clone(undeclared), func(v Violation) bool { return v.Property == l.Args[0].Text })
			if len(others) == len(undeclared) {
				return f.Error(l, nil, fmt.Errorf("%w: the previous command does not violate it", ErrExpected))
			}
			undeclared = others
		default:
			if err := do(e, l); err != nil {
				return f.Error(l, nil, err)
			}
			for _, v := range e.Violations()[handled:] {
				t.Print("%v", v)
				undeclared, cause, handled = append(undeclared, v), l, handled+1
			}
		}
		t.compare(l)
	}
	if t.Declares {
		undeclared = t.declare(undeclared)
	}
	switch {
	case len(undeclared) > 0:
		return f.Error(cause, nil, fmt.Errorf("%w: %s: %s", ErrExpected, undeclared[0].Property, undeclared[0].Text))
	case t.err != nil:
		return t.err
	}
	return t.mismatch
}

// do performs a command, or checks an assertion.
func do(e Executor, l *Line) error {
	if !l.Form.IsAssertion() {
		return e.Do(l)
	}
	if all := e.Opinions(); !Holds(l, all) {
		return fmt.Errorf("%w: %s", ErrExpected, Opinions(all))
	}
	return nil
}

// Holds reports whether an assertion about leaders holds.
func Holds(l *Line, all []Opinion) bool {
	wanted := &l.Args[len(l.Args)-1]
	switch l.Form.Usage {
	case "leader NODE":
		return Agreed(all).Leader == wanted.Node
	case "leader none":
		return !slices.ContainsFunc(all, func(o Opinion) bool { return o.Leader > 0 && !o.Down })
	case "follows NODE LEADER", "follows NODE none":
		n := l.Args[0].Node
		return n <= len(all) && !all[n-1].Down && all[n-1].Leader == wanted.Node
	case "epoch COUNT":
		common := Agreed(all)
		return common.Leader > 0 && common.Epoch == algo.Epoch(wanted.Count)
	}
	return false
}
