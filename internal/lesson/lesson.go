// Package lesson reads the lessons of docs/lessons and runs their scenarios.
//
//	all, err := lesson.All()
//	if err != nil {
//		return err
//	}
//	fmt.Println(all[0].Question())
//	run, err := lesson.Play(ctx, all[0].Runs[0], build)
//	if err != nil {
//		return err
//	}
//	fmt.Println(run.Diagram())
//
// A lesson is a page of sections, with diagrams of scenarios. A test of package cli generates the pages from runs.
package lesson

import (
	"fmt"
	"io/fs"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/elect-go/elect/docs/lessons"
)

// Lesson is a lesson.
type Lesson struct {
	Number int
	Name   string // base name of its files, such as "1-bully"
	Title  string
	Runs   []string // names of its scenarios, in the order of the page

	sections []section
}

type section struct{ heading, text string }

var (
	pageName = regexp.MustCompile(`^(\d+)-[a-z-]+\.md$`)
	diagram  = regexp.MustCompile(`\(diagrams/([\w-]+)\.svg\)`)
)

// All returns the lessons, by number.
func All() ([]Lesson, error) {
	entries, err := fs.ReadDir(lessons.Files, ".")
	if err != nil {
		return nil, err
	}
	var all []Lesson
	for _, entry := range entries {
		number := pageName.FindStringSubmatch(entry.Name())
		if number == nil {
			continue
		}
		text, err := fs.ReadFile(lessons.Files, entry.Name())
		if err != nil {
			return nil, err
		}
		l := Read(string(text))
		l.Name = strings.TrimSuffix(entry.Name(), ".md")
		l.Number, _ = strconv.Atoi(number[1])
		all = append(all, l)
	}
	return all, nil
}

// Read parses a page into its sections.
func Read(page string) (l Lesson) {
	head, rest, _ := strings.Cut(page, "\n## ")
	_, l.Title, _ = strings.Cut(head, "# ")
	l.Title, _, _ = strings.Cut(l.Title, "\n")
	for part := range strings.SplitSeq(rest, "\n## ") {
		heading, text, _ := strings.Cut(part, "\n")
		l.sections = append(l.sections, section{heading, strings.TrimSpace(text)})
	}
	for _, name := range diagram.FindAllStringSubmatch(page, -1) {
		l.Runs = append(l.Runs, name[1])
	}
	return l
}

// Section returns the text below a heading, formatted for a terminal. [Parts] splits it at its runs.
func (l *Lesson) Section(heading string) string { return formatTerminal(l.raw(heading)) }

// raw returns the Markdown below a heading.
func (l *Lesson) raw(heading string) string {
	if i := slices.IndexFunc(l.sections, func(s section) bool { return s.heading == heading }); i >= 0 {
		return l.sections[i].text
	}
	return ""
}

// Parts splits the text of a section at its runs. It yields each text with the name of the run before it, which is
// empty for the first text.
func Parts(section string) iter.Seq2[string, string] {
	return func(yield func(run, text string) bool) {
		for i, part := range strings.Split(section, runMark) {
			run := ""
			if i > 0 {
				run, part, _ = strings.Cut(part, "\n")
			}
			if !yield(run, strings.Trim(part, "\n")) {
				return
			}
		}
	}
}

// Headings returns the headings of all sections.
func (l *Lesson) Headings() (all []string) {
	for _, s := range l.sections {
		all = append(all, s.heading)
	}
	return all
}

// Question returns the question that comes before the run.
func (l *Lesson) Question() string {
	question, _, _ := strings.Cut(l.Section("Question"), answerMark)
	return strings.TrimSpace(question)
}

// Answer returns the short answer and its explanation.
func (l *Lesson) Answer() string {
	_, answer, _ := strings.Cut(l.Section("Question"), answerMark)
	return strings.TrimSpace(answer)
}

// ShortAnswer returns the short answer: the first bold words.
func (l *Lesson) ShortAnswer() string {
	_, answer, _ := strings.Cut(l.raw("Question"), "<summary>Answer</summary>")
	_, bold, _ := strings.Cut(answer, "**")
	bold, _, _ = strings.Cut(bold, "**")
	return strings.TrimRight(bold, ".")
}

// IsRight reports whether an answer contains one of the words of [Lesson.Accepted].
func (l *Lesson) IsRight(answer string) bool {
	accepted := l.Accepted()
	return slices.ContainsFunc(wordsOf(answer), func(word string) bool { return slices.Contains(accepted, word) })
}

// Accepted returns the words of which a right answer contains one, in lower case: the first word of the short answer,
// and other words for the same number.
func (l *Lesson) Accepted() []string {
	short := wordsOf(l.ShortAnswer())
	if len(short) == 0 {
		return nil
	}
	for _, words := range numbers {
		if slices.Contains(words, short[0]) {
			return words
		}
	}
	return short[:1]
}

// numbers are words for the same number.
var numbers = [][]string{
	{"none", "0", "zero", "no", "neither"}, {"1", "one"}, {"2", "two"}, {"3", "three"}, {"4", "four"}, {"5", "five"},
}

// wordsOf returns the words of a text in lower case, without punctuation.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Solution returns the solution of the exercise.
func (l *Lesson) Solution() (string, error) {
	text, err := fs.ReadFile(lessons.Files, "solutions/"+l.Name+".md")
	return formatTerminal(string(text)), err
}

// Scenario returns the text of a scenario.
func Scenario(name string) (string, error) {
	text, err := fs.ReadFile(lessons.Files, "scenarios/"+name+".txt")
	if err != nil {
		return "", fmt.Errorf("lesson: there is no scenario %q", name)
	}
	return string(text), nil
}

// Marks in the text for a terminal: before the hidden answer, and before the name of a run.
const (
	answerMark = "\x00"
	runMark    = "\x01"
)

// columns is the maximum width of a text on a terminal.
const columns = 80

var (
	link  = regexp.MustCompile(`\[([^\]]+)\]\((?:[^)]+)\)`)
	blank = regexp.MustCompile(`\n{3,}`)
	item  = regexp.MustCompile(`^(?:- |\d+\. )`)
)

// formatTerminal formats a page for a terminal: without images, tags and link targets, with wrapped lines.
func formatTerminal(page string) string {
	t := &terminal{}
	for line := range strings.Lines(page) {
		t.line(strings.TrimSuffix(line, "\n"))
	}
	t.writeParagraph()
	return blank.ReplaceAllString(strings.TrimSpace(t.String()), "\n\n")
}

// terminal builds a text for a terminal.
type terminal struct {
	strings.Builder
	paragraph string // current paragraph
	indent    string // of all lines of the paragraph but the first
	block     string // fence of the current code block; the lines of a mermaid block are omitted
}

func (t *terminal) line(line string) {
	trimmed := strings.TrimSpace(line)
	run := diagram.FindStringSubmatch(line)
	switch {
	case strings.HasPrefix(trimmed, "```"):
		t.writeParagraph()
		if t.block != "" {
			trimmed = ""
		}
		t.block = trimmed
	case t.block == "```mermaid":
	case t.block != "", strings.HasPrefix(line, "    "), strings.HasPrefix(line, "|"):
		t.writeParagraph()
		t.WriteString(line + "\n")
	case trimmed == "<summary>Answer</summary>":
		t.writeParagraph()
		t.WriteString(answerMark)
	case run != nil:
		t.writeParagraph()
		t.WriteString(runMark + run[1] + "\n")
	case strings.HasPrefix(trimmed, "<"), strings.HasPrefix(trimmed, "[Solution]"):
		t.writeParagraph()
	case trimmed == "":
		t.writeParagraph()
		t.WriteString("\n")
	default:
		if start := item.FindString(line); start != "" {
			t.writeParagraph()
			t.indent = strings.Repeat(" ", len(start))
		}
		t.paragraph += strings.NewReplacer("**", "", "*", "").Replace(link.ReplaceAllString(trimmed, "$1")) + " "
	}
}

// writeParagraph writes the paragraph with wrapped lines.
func (t *terminal) writeParagraph() {
	width := 0
	for _, word := range strings.Fields(t.paragraph) {
		length := utf8.RuneCountInString(word)
		switch {
		case width == 0:
		case width+1+length > columns:
			t.WriteString("\n" + t.indent)
			width = len(t.indent)
		default:
			t.WriteString(" ")
			width++
		}
		t.WriteString(word)
		width += length
	}
	if width > 0 {
		t.WriteString("\n")
	}
	t.paragraph, t.indent = "", ""
}
