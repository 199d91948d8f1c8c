package labpage_test

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/lesson"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/web"
)

// lessonView is what the page showed at one point of web/browser/lessons.mjs.
type lessonView struct {
	Runs, Unnamed                                                             int
	Heading, Text, Focused, Verdict, After, Next, Title, Counts, Hash, Status string
	Visible, Header                                                           []string
	Wide                                                                      bool
}

// verdicts are the texts of the page about the answers in lessons.mjs, by lesson.
var verdicts = []struct{ number, text string }{
	{"19", "✗ You answered 12. The run shows 19 messages."},
	{"2", "✓ Right: you answered I think two of them. The run shows 2 leaders at 3 T."},
	{"20", "The run shows 20 messages."},
	{"none", "✗ You answered n3. The run shows no leaders at its end."},
	{"2", "✓ Right: you answered 2. 2 of the 4 runs show two leaders at 2000 ms."},
	{"2", "✓ Right: you answered 2. The leaders of the run have the tokens 2 and 3. A resource that gets 2, 3 and the late 2 accepts 2 writes."},
}

// A lesson asks its question before a run starts, and compares the answer with the results of its runs.
func TestLessonsInBrowser(t *testing.T) {
	server := httptest.NewServer(web.AllowHosts(newHandler(t)))
	defer server.Close()
	out, err := testkit.Browser(t, "../../web/browser/lessons.mjs", server.URL+"/").Output()
	require.NoError(t, err)
	var seen struct {
		Lessons []struct{ Asked, Playing, Compared lessonView }
		Errors  []string
	}
	require.NoError(t, json.Unmarshal(out, &seen))
	require.Empty(t, seen.Errors)
	all, err := lesson.All()
	require.NoError(t, err)
	require.Len(t, seen.Lessons, len(all))
	for i, s := range seen.Lessons {
		l, asked, playing, compared := &all[i], s.Asked, s.Playing, s.Compared
		require.Equal(t, []string{"lesson"}, asked.Visible, "%s: the question stands alone", l.Name)
		require.Equal(t, []string{"elect lab"}, asked.Header)
		require.Zero(t, asked.Runs)
		require.Contains(t, plainText(asked.Text), plainText(l.Question()))
		require.NotContains(t, plainText(asked.Text), plainText(l.Answer()))
		require.Empty(t, asked.Verdict+asked.After)

		require.Contains(t, playing.Visible, "picture")
		require.Equal(t, "To the end of this run", playing.Next)
		require.Empty(t, playing.Verdict+playing.After, "%s: the run has not ended", l.Name)
		require.Contains(t, playing.Text, "Run 1 of ")
		require.Equal(t, verdicts[i].text, strings.SplitN(compared.Verdict, "\n", 2)[0])
		require.True(t, l.IsRight(verdicts[i].number), "%s: what the runs show is the answer of the lesson", l.Name)
		require.Contains(t, plainText(compared.Verdict), plainText(l.Answer()))
		require.NotEmpty(t, compared.After)
		require.Equal(t, "#lesson="+string(rune('1'+i)), compared.Hash)
	}

	var views map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(out, &views))
	view := func(name string) (v lessonView) {
		require.NoError(t, json.Unmarshal(views[name], &v), name)
		return v
	}
	require.Contains(t, view("list").Text+view("list").Heading, "Lessons")
	require.Equal(t, "lesson-title", view("chosen").Focused)
	require.True(t, strings.HasPrefix(view("chosen").Heading, "Lesson 2: "), view("chosen").Heading)
	require.Contains(t, view("played").Verdict, "✓ Right: you answered 2. The run shows 2 leaders at 3 T.")
	require.True(t, strings.HasPrefix(view("undone").Hash, "#s="), view("undone").Hash)
	require.Empty(t, view("end").Next)
	require.Contains(t, view("end").After, "Exercise")
	require.Equal(t, "#lesson=3", view("following").Hash)
	require.Equal(t, []string{"lesson"}, view("following").Visible)
	require.Equal(t, "Lessons", view("left").Heading)
	require.Contains(t, view("left").Visible, "picture")
	require.True(t, strings.HasPrefix(view("back").Heading, "Lesson 2: "), view("back").Heading)
	require.Equal(t, "⚠ There is no lesson 9", view("unknown").Status)
	require.Contains(t, view("unknown").Visible, "picture")
	for name := range views {
		if name != "lessons" && name != "errors" {
			require.False(t, view(name).Wide, "%s: it does not fit the width", name)
			require.Zero(t, view(name).Unnamed, "%s: an input has no name", name)
		}
	}
}

var space = regexp.MustCompile("[`\\s]+")

// plainText returns a text without code marks, and with one space between words.
func plainText(text string) string { return strings.TrimSpace(space.ReplaceAllString(text, " ")) }
