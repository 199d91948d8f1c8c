// Package scenario parses and runs scenarios: texts that list the events of a cluster, for the simulator, the
// search and the lessons.
//
// Each line holds one command, such as "crash n5"; # begins a comment. Lines that begin with > are the output
// of the command above them. A run prints them and compares them with those in the file. If the file has no
// output lines, the output is not compared.
//
//	# The leader is killed, and the next one takes over.
//	cluster 3
//	run 1s
//	> 3ms  n3 leads in epoch 1
//	crash n3
//	run 1s
//	leader n2
//
// [Language] lists all commands. The package checks their syntax and order and evaluates assertions. An
// [Executor] performs all other commands.
package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/untrusted"
)

// Errors about a scenario.
var (
	// ErrSyntax reports a line that is not understood.
	ErrSyntax = errors.New("not understood")
	// ErrExpected reports an assertion that does not hold.
	ErrExpected = errors.New("does not hold")
	// ErrOutput reports output that differs from the output in the file.
	ErrOutput = errors.New("says something else")
)

// Error is a syntax error in a scenario, or an assertion that does not hold.
type Error struct {
	Scenario     string
	Line, Column int    // from 1; 0 for the whole scenario
	Text         string // of the line
	Err          error
}

func (e *Error) Error() string {
	at := "scenario " + e.Scenario
	if e.Line > 0 {
		at += ", line " + strconv.Itoa(e.Line)
	}
	if e.Column > 0 {
		at += ", column " + strconv.Itoa(e.Column)
	}
	if e.Text != "" {
		at += ": " + e.Text
	}
	return at + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Line is a line of a scenario and its expected output.
type Line struct {
	Number int    // from 1
	Text   string // sanitized for a terminal
	Form   *Form  // nil if the line has no command
	Args   []Arg
	head   bool   // before the cluster
	want   []Line // expected output
	column int    // of the first word
}

// String returns the command without a comment and needless quotes.
func (l *Line) String() string { return strings.Join(l.Words(), " ") }

// Words returns the words of String.
func (l *Line) Words() []string {
	words := []string{l.Form.Verb()}
	for i := range l.Args {
		if a := &l.Args[i]; a.Name != "" || a.Nodes != nil {
			words = append(words, a.word.text)
		} else {
			words = append(words, Quote(a.Text))
		}
	}
	return words
}

// File is a parsed scenario.
type File struct {
	Name      string
	Mode      Mode
	Algorithm string // may be empty
	Options   []algo.Setting
	Lines     []Line
	expects   bool // the file has output lines
}

// Error returns err with the place of a line, or of its argument a unless a is nil.
func (f *File) Error(l *Line, a *Arg, err error) *Error {
	column := l.column
	if a != nil {
		column = a.word.column
	}
	text := l.Text
	if runes := []rune(text); len(runes) > 100 {
		text = string(runes[:100]) + "…"
	}
	return &Error{f.Name, l.Number, column, text, err}
}

// Commands calls do for each command of the head, or for all others, and joins its errors with their places.
// The argument that do returns is the place of its error; nil means the line.
func (f *File) Commands(head bool, do func(l *Line) (*Arg, error)) error {
	var errs []error
	for i := range f.Lines {
		if l := &f.Lines[i]; l.Form != nil && l.head == head {
			if a, err := do(l); err != nil {
				errs = append(errs, f.Error(l, a, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Head formats the lines before the cluster that all modes have.
func Head(spec *algo.Spec) string {
	text := "algorithm " + Quote(spec.Name) + "\n"
	for _, o := range spec.Settings {
		text += "option " + Quote(o.Name) + "=" + Quote(o.Value) + "\n"
	}
	return text
}

// Cluster is the verb of the command that creates the nodes.
const Cluster = "cluster"

// MaxText is the maximum size of a scenario in bytes.
const MaxText = 64 << 20

const (
	maxLine   = 16 << 10 // bytes
	maxErrors = 20       // reported
)

// Wanted returns a syntax error that says what is wanted instead.
func Wanted(format string, args ...any) error {
	return fmt.Errorf("%w, want %s", ErrSyntax, fmt.Sprintf(format, args...))
}

// reader parses a scenario line by line.
type reader struct {
	file    *File
	cluster int            // line number of the cluster; 0 before it
	heads   map[string]int // line numbers of the settings, by name
	total   time.Duration  // sum of all times
	errs    []error
	omitted int // errors beyond maxErrors
}

// Parse parses a scenario. It reports all syntax errors, each as an [Error].
func Parse(name, text string) (*File, error) {
	r := reader{file: &File{Name: untrusted.Printable(name), Mode: Time}, heads: make(map[string]int)}
	if len(text) > MaxText {
		return nil, &Error{Scenario: r.file.Name, Err: Wanted("at most %d MiB", MaxText>>20)}
	}
	number := 0
	for raw := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		number++
		r.line(number, strings.TrimSpace(raw))
	}
	if r.cluster == 0 && len(r.errs) == 0 {
		r.errs = append(r.errs, &Error{Scenario: r.file.Name, Err: Wanted("a cluster")})
	}
	if r.omitted > 0 {
		r.errs = append(r.errs, fmt.Errorf("scenario %s: and %d more errors", r.file.Name, r.omitted))
	}
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return r.file, nil
}

func (r *reader) report(l *Line, column int, err error) {
	if len(r.errs) == maxErrors {
		r.omitted++
		return
	}
	r.errs = append(r.errs, r.file.Error(l, &Arg{word: word{column: column}}, err))
}

func (r *reader) line(number int, raw string) {
	if len(raw) > maxLine {
		r.report(&Line{Number: number}, 0, Wanted("at most %d bytes in a line, it has %d", maxLine, len(raw)))
		return
	}
	l := Line{Number: number, Text: untrusted.Printable(strings.ReplaceAll(raw, "\t", " "))}
	lines := r.file.Lines
	if output, ok := strings.CutPrefix(l.Text, ">"); ok {
		if len(lines) == 0 || lines[len(lines)-1].Form == nil {
			r.report(&l, 1, Wanted("a command above its output"))
			return
		}
		l.Text, l.column = strings.TrimSpace(output), 1
		r.file.expects = true
		above := &lines[len(lines)-1]
		above.want = append(above.want, l)
		return
	}
	words, column, err := split(raw)
	if err != nil {
		r.report(&l, column, err)
	} else if len(words) > 0 {
		if column, err = l.read(r.file.Mode, words); err == nil {
			column, err = l.column, r.place(&l)
		}
		if err != nil {
			r.report(&l, column, err)
		}
	}
	r.file.Lines = append(r.file.Lines, l)
}

// place checks that the command is allowed at its place.
func (r *reader) place(l *Line) error {
	verb := l.Form.Verb()
	switch {
	case verb == Cluster && r.cluster > 0:
		return Wanted("one cluster; line %d has it", r.cluster)
	case verb == Cluster:
		r.cluster = l.Number
		return nil
	case r.cluster > 0 && !l.Form.Body:
		return Wanted("it before the cluster, which is in line %d", r.cluster)
	case r.cluster > 0:
		for _, a := range l.Args {
			if r.total += a.Time; r.total > maxTime {
				r.total -= a.Time
				return Wanted("times that are at most 500000h together")
			}
		}
		return nil
	case !l.Form.Head:
		return Wanted("a cluster first")
	}
	l.head = true
	first := append(l.Args, Arg{})[0]
	key := verb + " " + first.Name
	if verb == "property" || verb == "witness" {
		key += first.Text
	}
	line, twice := r.heads[key]
	switch {
	case twice:
		return Wanted("it once; line %d has it", line)
	case verb == "mode" && len(r.heads) > 0:
		return Wanted("it before everything else")
	case verb == "mode" && first.Text == "choice":
		r.file.Mode = Choice
	case verb == "algorithm":
		r.file.Algorithm = first.Text
	case verb == "option":
		r.file.Options = append(r.file.Options, algo.Setting{Name: first.Name, Value: first.Text})
	}
	r.heads[key] = l.Number
	return nil
}

// word is a word of a line and its column, in characters from 1.
type word struct {
	text   string
	column int
}

// split returns the words of a line before its comment. Words are separated by spaces and tabs outside of
// quotes.
func split(line string) (words []word, column int, err error) {
	begin, quote, escaped := -1, 0, false // offset of the current word; column of the open quote
	for at, r := range line {
		column++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[at:], string(r)):
			return nil, column, Wanted("text: the byte %#02x is none", line[at])
		case quote > 0 && !strconv.IsPrint(r):
			return nil, quote, Wanted("what can be printed within quotes: this is %U, and \\u%04x stands for it", r, r)
		case quote > 0 && r == '"' && !escaped:
			quote = 0
		case quote > 0:
			escaped = r == '\\' && !escaped
		case r == '#':
			return words, 0, nil
		case r == ' ' || r == '\t':
			begin = -1
			continue
		case !strconv.IsPrint(r):
			return nil, column, Wanted("what can be printed, and spaces U+0020: this is %U", r)
		case r == '"':
			quote = column
		}
		if begin < 0 {
			begin, words = at, append(words, word{column: column})
		}
		words[len(words)-1].text = line[begin : at+utf8.RuneLen(r)]
	}
	if quote > 0 {
		return nil, quote, Wanted("an end of the quoted text")
	}
	return words, 0, nil
}

// Quote formats a text as one word.
func Quote(text string) string {
	special := func(r rune) bool { return strings.ContainsRune(`"#,=[]{}\>`, r) || r == ' ' || !strconv.IsPrint(r) }
	if text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, special) {
		return strconv.Quote(text)
	}
	return text
}
