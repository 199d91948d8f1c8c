package scenario

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/diag"
)

// Mode is what drives a scenario. A set of modes says where a form is allowed.
type Mode uint8

// The modes.
const (
	Time   Mode = 1 << iota // clocks: complete nodes with detectors, on a network
	Choice                  // the scenario gives each step of each algorithm
	both   = Time | Choice
)

// Form is one way to write a command. In a usage, words in capitals stand for arguments,
// a|b is one of two, and an argument in brackets may be omitted or repeated.
type Form struct {
	Modes Mode
	Head  bool // allowed before the cluster
	Body  bool // allowed after the cluster, or the cluster itself
	Usage string
	Help  string
}

// Verb returns the first word of the form.
func (f *Form) Verb() string { verb, _, _ := strings.Cut(f.Usage, " "); return verb }

// IsAssertion reports whether the command only checks a state.
func (f *Form) IsAssertion() bool {
	return slices.Contains([]string{"leader", "follows", "epoch", "violates"}, f.Verb())
}

// reference describes the language for a terminal and defines it: a heading says where the forms below it are
// allowed, and each form has a help text.
//
//go:embed language.txt
var reference string

// Reference describes the language for a terminal.
func Reference() string { return reference }

// Language lists all forms.
var Language = forms(reference)

// forms parses a reference. The reference lists a form twice if it is allowed both before and after the cluster.
func forms(reference string) (all []Form) {
	modes := map[string]Mode{"mode time:": Time, "mode choice:": Choice, "both modes:": both}
	var place Form
	for line := range strings.Lines(reference) {
		form, indented := strings.CutPrefix(line, "  ")
		if where, mode, title := strings.Cut(strings.TrimSpace(line), ", in "); title && !indented {
			place = Form{Modes: modes[mode], Head: where == "Before the cluster", Body: where == "From the cluster on"}
		}
		if !indented {
			continue
		}
		f := place
		f.Usage, f.Help, _ = strings.Cut(strings.TrimSpace(form), "  ")
		f.Help = strings.TrimSpace(f.Help)
		if i := slices.IndexFunc(all, func(o Form) bool { return o.Usage == f.Usage && o.Modes == f.Modes }); i >= 0 {
			all[i].Body = true
		} else {
			all = append(all, f)
		}
	}
	return all
}

// Arg is one argument of a command. Its place in the form decides which fields are set.
type Arg struct {
	Text   string // without quotes; of a setting, its value
	Name   string // of a setting
	Node   int    // n1 is 1
	Nodes  []int
	Number int
	Count  uint64
	Time   time.Duration
	Share  float64 // a probability
	word   word
}

// maxTime limits the sum of all times of a scenario, so that it fits an int64.
const maxTime = 500_000 * time.Hour

// kinds are the arguments that this package parses, by their names in a usage. An executor parses all
// other arguments.
var kinds = map[string]struct {
	want string
	read func(a *Arg) bool
}{
	"NODE": {"a node, such as n5", readNode}, "PEER": {"a node, such as n5", readNode}, "LEADER": {"a node, such as n5", readNode},
	"FROM": {"a node, such as n5", readNode}, "TO": {"a node, such as n5", readNode},
	"GROUP": {"nodes with commas, such as n1,n2", func(a *Arg) bool {
		for name := range strings.SplitSeq(a.Text, ",") {
			n, ok := number(name)
			if !ok {
				return false
			}
			a.Nodes = append(a.Nodes, n)
		}
		return true
	}},
	"NUMBER": {"a whole number", readNumber}, "PRIORITY": {"a whole number", readNumber},
	"COUNT": {"a whole number that is not negative", func(a *Arg) (ok bool) {
		var err error
		a.Count, err = strconv.ParseUint(a.Text, 10, 64)
		return err == nil
	}},
	"TIME": {"a time, such as 1.5s, of at most 500000h", readTime},
	"NAME=TIME": {"NAME=TIME, such as timeout=380ms", func(a *Arg) bool {
		return readSetting(a) && readTime(a) && a.Time > 0
	}},
	"NAME=VALUE": {"NAME=VALUE", readSetting}, "FIELD=VALUE": {"FIELD=VALUE", readSetting},
	"PROBABILITY": {"a probability, such as 0.05 or 5%", func(a *Arg) bool {
		text, percent := strings.CutSuffix(a.Text, "%")
		p, err := strconv.ParseFloat(text, 64)
		if percent {
			p /= 100
		}
		a.Share = p
		return err == nil && p >= 0 && p <= 1
	}},
}

// number parses the name of a node.
func number(name string) (int, bool) {
	digits, found := strings.CutPrefix(name, "n")
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), found && err == nil && n > 0 && digits[0] != '0'
}

func readNode(a *Arg) (ok bool) { a.Node, ok = number(a.Text); return ok }

func readNumber(a *Arg) bool {
	n, err := strconv.Atoi(a.Text)
	a.Number = n
	return err == nil
}

func readTime(a *Arg) bool {
	d, err := time.ParseDuration(a.Text)
	a.Time = d
	return err == nil && d >= 0 && d <= maxTime
}

func readSetting(a *Arg) (found bool) {
	name, value, found := strings.Cut(a.word.text, "=")
	var errName, errValue error
	a.Name, errName = Unquote(name)
	a.Text, errValue = Unquote(value)
	return found && name != "" && errName == nil && errValue == nil
}

// Unquote is the inverse of Quote.
func Unquote(word string) (string, error) {
	if !strings.HasPrefix(word, `"`) {
		return word, nil
	}
	text, err := strconv.Unquote(word)
	if err != nil {
		return "", fmt.Errorf("%s, want one text", word)
	}
	return text, nil
}

// match parses words as this form. It returns the number of words that fit and what is wanted after them.
func (f *Form) match(words []word) (args []Arg, fit int, want string) {
	pattern := strings.Fields(f.Usage)[1:]
	if last := len(pattern) - 1; last >= 0 && pattern[last][0] == '[' { // repeated for all remaining words
		one := strings.Trim(pattern[last], "[]…")
		pattern = append(pattern[:last], slices.Repeat([]string{one}, max(0, len(words)-last))...)
	}
	for fit, place := range pattern {
		kind, known := kinds[place]
		if !known {
			kind.want = strings.ReplaceAll(place, "|", " or ")
			kind.read = func(a *Arg) bool {
				return place != strings.ToLower(place) || slices.Contains(strings.Split(place, "|"), a.Text)
			}
		}
		if fit == len(words) {
			return nil, fit, kind.want
		}
		a := Arg{word: words[fit]}
		text, err := Unquote(words[fit].text)
		a.Text = text
		if setting := strings.Contains(place, "="); err != nil && !setting || !kind.read(&a) { // a setting has parts
			return nil, fit, kind.want
		}
		args = append(args, a)
	}
	if len(words) > len(pattern) {
		return nil, len(pattern), "the end of the line"
	}
	return args, len(words), ""
}

// Command parses one command that acts on a cluster, in a scenario of a mode.
func Command(mode Mode, text string) (*Line, error) {
	l, err := single(mode, text)
	if err == nil && (!l.Form.Body || l.Form.IsAssertion()) {
		err = Wanted("a command that acts on a cluster")
	}
	return l, err
}

// Assertion parses one assertion about the leaders that the nodes follow.
func Assertion(mode Mode, text string) (*Line, error) {
	l, err := single(mode, text)
	if err == nil && (!l.Form.IsAssertion() || l.Form.Verb() == "violates") {
		err = Wanted("an assertion about leaders, such as leader n1")
	}
	return l, err
}

// single parses a line on its own.
func single(mode Mode, text string) (*Line, error) {
	l := &Line{Text: text}
	words, _, err := split(text)
	if err != nil {
		return l, err
	}
	if len(words) == 0 {
		return l, Wanted("a command")
	}
	if _, err := l.read(mode, words); err != nil {
		return l, err
	}
	return l, nil
}

// read finds the form of a line in a mode and parses its arguments.
func (l *Line) read(mode Mode, words []word) (column int, err error) {
	verb := words[0].text
	l.column = words[0].column
	var usages []string
	var known *Form
	best, want := -1, ""
	for i := range Language {
		f := &Language[i]
		if f.Verb() != verb {
			continue
		}
		if known = f; f.Modes&mode == 0 {
			continue
		}
		args, fit, wanted := f.match(words[1:])
		if wanted == "" {
			l.Form, l.Args = f, args
			return l.column, nil
		}
		if usages = append(usages, f.Usage); fit > best {
			best, want = fit, wanted
		} else if fit == best && !strings.Contains(want, wanted) {
			want += " or " + wanted
		}
	}
	switch {
	case usages != nil:
		column = words[min(best+1, len(words)-1)].column
		return column, Wanted("%s (%s)", want, strings.Join(usages, ", or "))
	case known != nil:
		return l.column, Wanted("it in mode %s only", map[Mode]string{Time: "time", Choice: "choice"}[known.Modes])
	}
	return l.column, mode.unknown(verb)
}

// unknown returns an error that suggests the nearest command.
func (m Mode) unknown(verb string) error {
	var known []string
	for i := range Language {
		if f := &Language[i]; f.Modes&m != 0 {
			known = append(known, f.Verb())
		}
	}
	if near := diag.Nearest(verb, known, func(verb string) []string { return []string{verb} }); near != "" {
		return Wanted("%s, perhaps", near)
	}
	slices.Sort(known)
	return Wanted("one of %s", strings.Join(slices.Compact(known), ", "))
}
