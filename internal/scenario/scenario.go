// Package scenario reads the one form in which this module writes down what happens to a
// cluster: for the simulator, for the search, for lessons.
//
// A scenario is a text of lines. A line holds a command, such as "crash n5"; # begins a
// comment. Lines that begin with > are what the command above them has to say; they are
// written by whoever runs the scenario, and compared when it is run again. A scenario
// without any may say what it likes.
//
//	# The leader is killed, and the next one takes over.
//	cluster 3
//	run 1s
//	> 3ms  n3 leads in epoch 1
//	crash n3
//	run 1s
//	leader n2
//
// [Language] has all commands. The package knows how they are written and in which order,
// and what those that ask for something mean; what the others do is their [Host]'s.
package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/untrusted"
)

// What is wrong with a scenario.
var (
	// ErrSyntax says that a line is not understood.
	ErrSyntax = errors.New("not understood")
	// ErrExpected says that something does not hold that a scenario asks for.
	ErrExpected = errors.New("does not hold")
	// ErrOutput says that a scenario ran to its end, and said something else than it did.
	ErrOutput = errors.New("says something else")
)

// Error is a mistake in a scenario, or what did not hold.
type Error struct {
	Scenario     string
	Line, Column int    // from 1; 0 for all of it
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

// Unwrap returns what the error is about.
func (e *Error) Unwrap() error { return e.Err }

// Line is a line of a scenario, with the output below it.
type Line struct {
	Number int    // from 1
	Text   string // as it stands, without what does not belong on a terminal
	Form   *Form  // nil where there is no command
	Args   []Arg
	head   bool   // it stands before the cluster
	want   []Line // its output
	column int    // of the first word
}

// String is a command as it is written without a comment and needless quotes.
func (l *Line) String() string { return strings.Join(l.Words(), " ") }

// Words is that word by word.
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

// File is a scenario that is well formed.
type File struct {
	Name      string
	Mode      Mode
	Algorithm string // empty where it is not said
	Options   []algo.Setting
	Lines     []Line
	expects   bool // it has output
}

// Error is err, at a line. The argument a is what it is about, or nil.
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

// Commands calls do for each command of the head, or for all others, and joins its errors
// at their lines. The argument that do returns is what its error is about, or nil.
func (f *File) Commands(head bool, do func(l *Line) (*Arg, error)) error {
	var mistakes []error
	for i := range f.Lines {
		if l := &f.Lines[i]; l.Form != nil && l.head == head {
			if a, err := do(l); err != nil {
				mistakes = append(mistakes, f.Error(l, a, err))
			}
		}
	}
	return errors.Join(mistakes...)
}

// Head writes the lines that all modes have before the cluster.
func Head(spec *algo.Spec) string {
	text := "algorithm " + Quote(spec.Name) + "\n"
	for _, o := range spec.Settings {
		text += "option " + Quote(o.Name) + "=" + Quote(o.Value) + "\n"
	}
	return text
}

// Cluster is the verb of the command that makes the nodes.
const Cluster = "cluster"

// MaxText is how long a scenario may be, in bytes.
const MaxText = 64 << 20

const (
	maxLine     = 16 << 10 // bytes
	maxMistakes = 20       // that are said
)

// Wanted is a syntax error that says what should stand there.
func Wanted(format string, args ...any) error {
	return fmt.Errorf("%w, want %s", ErrSyntax, fmt.Sprintf(format, args...))
}

// reader reads a scenario line by line.
type reader struct {
	file     *File
	began    int            // the line of the cluster; 0 before it
	heads    map[string]int // by what they set: their lines
	length   time.Duration  // of all that passes
	mistakes []error
	more     int // mistakes that are not said
}

// Parse reads a scenario. It says every mistake at once, each an [Error].
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
	if r.began == 0 && len(r.mistakes) == 0 {
		r.mistakes = append(r.mistakes, &Error{Scenario: r.file.Name, Err: Wanted("a cluster")})
	}
	if r.more > 0 {
		r.mistakes = append(r.mistakes, fmt.Errorf("scenario %s: and %d more mistakes", r.file.Name, r.more))
	}
	if err := errors.Join(r.mistakes...); err != nil {
		return nil, err
	}
	return r.file, nil
}

func (r *reader) mistake(l *Line, column int, err error) {
	if len(r.mistakes) == maxMistakes {
		r.more++
		return
	}
	r.mistakes = append(r.mistakes, r.file.Error(l, &Arg{word: word{column: column}}, err))
}

func (r *reader) line(number int, raw string) {
	if len(raw) > maxLine {
		r.mistake(&Line{Number: number}, 0, Wanted("at most %d bytes in a line, it has %d", maxLine, len(raw)))
		return
	}
	l := Line{Number: number, Text: untrusted.Printable(strings.ReplaceAll(raw, "\t", " "))}
	lines := r.file.Lines
	if said, ok := strings.CutPrefix(l.Text, ">"); ok {
		if len(lines) == 0 || lines[len(lines)-1].Form == nil {
			r.mistake(&l, 1, Wanted("a command above its output"))
			return
		}
		l.Text, l.column = strings.TrimSpace(said), 1
		r.file.expects = true
		above := &lines[len(lines)-1]
		above.want = append(above.want, l)
		return
	}
	words, column, err := split(raw)
	if err != nil {
		r.mistake(&l, column, err)
	} else if len(words) > 0 {
		if column, err = l.read(r.file.Mode, words); err == nil {
			column, err = l.column, r.place(&l)
		}
		if err != nil {
			r.mistake(&l, column, err)
		}
	}
	r.file.Lines = append(r.file.Lines, l)
}

// place checks that a command may stand where it does.
func (r *reader) place(l *Line) error {
	verb := l.Form.Verb()
	switch {
	case verb == Cluster && r.began > 0:
		return Wanted("one cluster; line %d has it", r.began)
	case verb == Cluster:
		r.began = l.Number
		return nil
	case r.began > 0 && !l.Form.Body:
		return Wanted("it before the cluster, which is in line %d", r.began)
	case r.began > 0:
		for _, a := range l.Args {
			if r.length += a.Time; r.length > longest {
				r.length -= a.Time
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

// word is a part of a line, with the place where it begins, in characters from 1.
type word struct {
	text   string
	column int
}

// split returns the words of a line up to its comment. They are divided by spaces and
// tabs; what is within quotes is no division.
func split(line string) (words []word, column int, err error) {
	begin, quote, escaped := -1, 0, false // where the word began; the column of a quote that is open
	for at, r := range line {
		column++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[at:], string(r)):
			return nil, column, Wanted("text: the byte %#02x is none", line[at])
		case quote > 0 && !unicode.IsPrint(r):
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
		case !unicode.IsPrint(r):
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

// Quote returns a text as one word.
func Quote(text string) string {
	special := func(r rune) bool { return strings.ContainsRune(`"#,=[]{}\>`, r) || r == ' ' || !unicode.IsPrint(r) }
	if text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, special) {
		return strconv.Quote(text)
	}
	return text
}
