package lesson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/lesson"
)

func TestTextForTerminal(t *testing.T) {
	section := func(text string) string {
		l := lesson.Read("# Title\n\n## One\n\n" + text + "\n")
		return l.Section("One")
	}
	require.Equal(t, "a bold link", section("a **bold** [link](x.md)"))
	require.Equal(t, "- a list\n- of two", section("- a list\n- of two"))
	require.Equal(t, "| a | b |\n    code", section("| a | b |\n    code"))
	require.Equal(t, "before\nx := 1\nafter", section("before\n```go\nx := 1\n```\n<details>\n```mermaid\nhidden\n```\n</details>\nafter"))
	long := section("1. " + strings.Repeat("word ", 20))
	require.Equal(t, "1. "+strings.TrimSpace(strings.Repeat("word ", 15))+"\n   word word word word word", long)
}

func TestAnswerIsRight(t *testing.T) {
	l := lesson.Read("# Title\n\n## Question\n\nHow many?\n\n<details>\n<summary>Answer</summary>\n\n**19 messages.** Because.\n\n</details>\n")
	require.Equal(t, "How many?", l.Question())
	require.Equal(t, "19 messages. Because.", l.Answer())
	require.Equal(t, "19 messages", l.ShortAnswer())
	for answer, right := range map[string]bool{"19": true, "It is 19!": true, "18": false, "": false, "messages": false, "190": false} {
		require.Equal(t, right, l.IsRight(answer), answer)
	}
	l = lesson.Read("# Title\n\n## Question\n\nHow many?\n\n<details>\n<summary>Answer</summary>\n\n**2.** Because.\n\n</details>\n")
	require.True(t, l.IsRight("Two leaders"))
	require.False(t, l.IsRight("three"))
}

// Each lesson has a page, with its runs in order and the measure that its answer is compared with.
func TestLessonsAsPages(t *testing.T) {
	all, err := lesson.All()
	require.NoError(t, err)
	require.Len(t, all, 6)
	for i := range all {
		l := &all[i]
		p, err := l.Page()
		require.NoError(t, err)
		require.Equal(t, l.Number, p.Number)
		for _, text := range []string{p.Situation, p.Question, p.Answer, p.Intro, p.Explanation, p.Exercise} {
			require.NotEmpty(t, text, l.Name)
			require.NotRegexp(t, `<(script|img|details)|mermaid|elect sim --scenario docs/lessons/scenarios/\S+ --diagram|\*\*|href="[^#]|>Solution<`, text, l.Name)
		}
		require.Contains(t, p.Answer, "<strong>"+l.ShortAnswer())
		require.NotContains(t, p.Question, p.Answer)
		require.Len(t, p.Runs, len(l.Runs))
		for k, r := range p.Runs {
			require.Equal(t, l.Runs[k], r.Name)
			require.NotContains(t, r.Text, "mermaid")
		}
		require.True(t, l.IsRight(l.ShortAnswer()))
	}
}

func TestTextForBrowser(t *testing.T) {
	read := func(measure string) (lesson.Page, error) {
		l := lesson.Read("# Title\n\n## Situation\n\nSee [two](2-suspicion.md) and *the* [code](../../a.go).\n\n1. one\n2. two\n\n" +
			"## Question\n\nHow many?\n\n" + measure + "\n\n<details>\n<summary>Answer</summary>\n\n**None.** Because.\n\n</details>\n\n" +
			"## The run\n\nBefore\n\n![A](diagrams/1-a.svg)\n\n    elect sim --scenario docs/lessons/scenarios/1-a.txt --diagram\n\n" +
			"<details>\n<summary>The same</summary>\n\n```mermaid\nx\n```\n\n</details>\n\nAfter `a<b`\n")
		return l.Page()
	}
	p, err := read("<!-- Measure: leaders of 1 at 3 -->")
	require.NoError(t, err)
	require.Equal(t, lesson.Page{
		Title:     "Title",
		Situation: "<p>See <a href=\"#lesson=2\">two</a> and <em>the</em> code.</p>\n\n<ol>\n<li>one</li>\n<li>two</li>\n</ol>",
		Question:  "<p>How many?</p>", Answer: "<p><strong>None.</strong> Because.</p>",
		Accepted: []string{"none", "0", "zero", "no", "neither"},
		Measure:  lesson.Measure{Quantity: "leaders", Runs: 1, At: 3},
		Intro:    "<p>Before</p>", Runs: []lesson.PageRun{{Name: "1-a", Text: "<p>After <code>a&lt;b</code></p>"}},
	}, p)
	p, err = read("<!-- Measure: messages -->")
	require.NoError(t, err)
	require.Equal(t, lesson.Measure{Quantity: "messages", Runs: 1, At: -1}, p.Measure)
	_, err = read("<!-- Measure: lanes -->")
	require.ErrorContains(t, err, "the question has no measure")
	_, err = read("<!-- Measure: messages of 2 -->")
	require.ErrorContains(t, err, "the measure has 2 runs, want at most 1")
}
