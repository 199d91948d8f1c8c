package lesson

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/russross/blackfriday/v2"
)

// Page is a lesson for a browser. Its texts are HTML without scripts.
type Page struct {
	Number    int    `json:"number"`
	Title     string `json:"title"`
	Situation string `json:"situation"`
	Question  string `json:"question"`
	Answer    string `json:"answer"`
	// Accepted are the words of which a right answer contains one, in lower case.
	Accepted []string `json:"accepted"`
	Measure  Measure  `json:"measure"`
	// Intro is the text before the first run.
	Intro       string    `json:"intro"`
	Runs        []PageRun `json:"runs"`
	Explanation string    `json:"explanation"`
	Exercise    string    `json:"exercise"`
}

// PageRun is a run of a lesson.
type PageRun struct {
	Name string `json:"name"`
	Text string `json:"text"` // after the run
}

// Measure is what the first runs of a lesson show, so that the answer of a student is compared with them. A page has it
// as a comment below its question.
type Measure struct {
	// Quantity is messages (that the run sends), leaders (nodes that lead), runs with two leaders, or writes (that a
	// resource accepts: one of each leader in turn, and then a late one of the first). The measure is their number.
	Quantity string `json:"quantity"`
	Runs     int    `json:"runs"` // number of runs that show it, from the first
	At       int    `json:"at"`   // moment after the start of the drawing, in T or ms; -1 for the end
}

// measureComment matches for example "<!-- Measure: leaders at 3 -->", and "of 4" for four runs.
var measureComment = regexp.MustCompile(`<!-- Measure: (messages|leaders|writes|runs with two leaders)(?: of (\d+))?(?: at (\d+))? -->`)

// Page returns the lesson for a browser. The error reports a question without a measure, or one with more runs than the
// lesson has.
func (l *Lesson) Page() (Page, error) {
	question, answer, _ := strings.Cut(l.raw("Question"), "<details>")
	_, answer, _ = strings.Cut(answer, "</summary>")
	answer, _, _ = strings.Cut(answer, "</details>")
	p := Page{
		Number: l.Number, Title: l.Title, Situation: html(l.raw("Situation")), Question: html(question), Answer: html(answer), Accepted: l.Accepted(),
		Explanation: html(l.raw("Explanation")), Exercise: html(l.raw("Exercise")),
	}
	texts := runBlock.Split(l.raw("The run"), -1)
	p.Intro = html(texts[0])
	for i, name := range runBlock.FindAllStringSubmatch(l.raw("The run"), -1) {
		p.Runs = append(p.Runs, PageRun{name[1], html(texts[i+1])})
	}
	m := measureComment.FindStringSubmatch(l.raw("Question"))
	if m == nil {
		return p, fmt.Errorf("lesson %d: the question has no measure", l.Number)
	}
	p.Measure = Measure{Quantity: m[1], Runs: 1, At: -1}
	if m[2] != "" {
		p.Measure.Runs, _ = strconv.Atoi(m[2])
	}
	if m[3] != "" {
		p.Measure.At, _ = strconv.Atoi(m[3])
	}
	if p.Measure.Runs > len(p.Runs) {
		return p, fmt.Errorf("lesson %d: the measure has %d runs, want at most %d", l.Number, p.Measure.Runs, len(p.Runs))
	}
	return p, nil
}

var (
	// runBlock matches a run in a page: the image, the command, and the sequence diagram.
	runBlock   = regexp.MustCompile(`(?s)!\[[^\]]*\]\(diagrams/([\w-]+)\.svg\)\n\n {4}elect sim [^\n]*\n\n<details>.*?</details>`)
	lessonLink = regexp.MustCompile(`\]\((\d+)-[a-z-]+\.md\)`)
	solution   = regexp.MustCompile(`\n\[Solution\]\([^)]*\)`)
	otherLink  = regexp.MustCompile(`\[([^\]]+)\]\([^#)][^)]*\)`)
)

// html converts Markdown. A link to a lesson becomes one of the page of elect lab; of another link, only the text is
// left.
func html(markdown string) string {
	markdown = lessonLink.ReplaceAllString(markdown, "](#lesson=$1)")
	markdown = solution.ReplaceAllString(markdown, "")
	markdown = otherLink.ReplaceAllString(markdown, "$1")
	renderer := blackfriday.NewHTMLRenderer(blackfriday.HTMLRendererParameters{Flags: blackfriday.SkipHTML | blackfriday.SkipImages})
	extensions := blackfriday.WithExtensions(blackfriday.NoIntraEmphasis | blackfriday.Tables | blackfriday.FencedCode)
	return strings.TrimSpace(string(blackfriday.Run([]byte(markdown), blackfriday.WithRenderer(renderer), extensions)))
}
