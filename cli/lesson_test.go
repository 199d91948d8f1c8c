package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// takeLesson plays a lesson with the lines of a student.
func takeLesson(t *testing.T, lines string, args ...string) (status int, stdout string) {
	t.Helper()
	p := newProgram(builtins.registry)
	p.stdin = strings.NewReader(lines)
	var out, err bytes.Buffer
	status = p.run(t.Context(), append([]string{"lesson"}, args...), &out, &err)
	require.Empty(t, err.String())
	return status, out.String()
}

func TestLessonsAreListed(t *testing.T) {
	status, out, _ := elect("lesson")
	require.Zero(t, status)
	require.Contains(t, out, "1  Bully: the best and the worst election\n")
	var list []lessonObject
	_, out, _ = elect("lesson", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	for i, l := range list {
		require.Equal(t, i+1, l.Lesson)
		require.NotEmpty(t, l.Afterwards)
		require.NotEmpty(t, l.Question)
		require.NotEmpty(t, l.Answer)
		require.NotEmpty(t, l.Exercise)
	}
}

func TestLessonIsPrintedToPipe(t *testing.T) {
	status, out, _ := elect("lesson", "1")
	require.Zero(t, status)
	for _, want := range []string{"Question\n--------\n", "19 messages. The leader is n4", "Run 1-worst, textbook-bully: ", "│◄─── answer ────┤", "The solution: elect lesson 1 --solution\n"} {
		require.Contains(t, out, want)
	}
	for _, unwanted := range []string{"mermaid", "](", "<details>", "Your answer", "\x00", "\x1b"} {
		require.NotContains(t, out, unwanted)
	}
}

func TestLessonPausesForStudent(t *testing.T) {
	status, out := takeLesson(t, "\n20\n\nb\nq\n", "1", "--step")
	require.Zero(t, status)
	_, answered, found := strings.Cut(out, "Your answer: ")
	require.True(t, found)
	require.Contains(t, answered, "You say: 20. The run will show: 19 messages.")
	require.Equal(t, 2, strings.Count(out, "[moment 1 of 5."), "b goes back")
	require.Equal(t, 1, strings.Count(out, "[moment 2 of 5."))
	require.NotContains(t, out, "Explanation\n", "q quits")

	_, out = takeLesson(t, "\n19\ne\n", "1", "--step")
	require.Contains(t, out, "\nRight.\n")
	require.Contains(t, out, "[moment 5 of 5.", "e goes to the end")
	require.Contains(t, out, "The solution: ", "at the end of the input all is printed")
}

func TestLessonAsJSON(t *testing.T) {
	status, out, _ := elect("lesson", "1", "--json")
	require.Zero(t, status)
	require.Equal(t, []string{"afterwards", "answer", "exercise", "lesson", "question", "runs", "title"}, keys(t, out))
	var l lessonObject
	decodeStrictly(t, out, &l)
	require.Equal(t, lessonRun{"1-worst", "Bully at its worst: the leader n5 has crashed, and n1, the lowest, suspects it first", "textbook-bully", 5, 19, true, ""}, l.Runs[0])
}

func TestLessonPrintsItsParts(t *testing.T) {
	status, out, _ := elect("lesson", "1", "--solution")
	require.Zero(t, status)
	require.Contains(t, out, "suspect n3 n5")
	status, out, _ = elect("lesson", "1", "--scenario", "1-worst")
	require.Zero(t, status)
	require.True(t, strings.HasPrefix(out, "# Bully at its worst"))
}

func TestLessonProblems(t *testing.T) {
	for args, want := range map[string]string{
		"lesson 99":              `the lesson is "99", want 1 to`,
		"lesson x":               `the lesson is "x", want 1 to`,
		"lesson --step":          "want its number",
		"lesson 1 --scenario no": `--scenario is "no", want one of 1-worst, 1-best, 1-unguarded`,
		"lesson 1 --width 7":     "--width is 7, want at least 40",
		"lesson 1 --json --step": "want one",
	} {
		status, _, stderr := elect(strings.Fields(args)...)
		require.Equal(t, 2, status, args)
		require.Contains(t, stderr, want, args)
	}
}

func TestLessonFailsIfAssertionFails(t *testing.T) {
	registry := maps.Clone(builtins.registry)
	registry["textbook-ring"] = registry["textbook-vote"] // textbook-vote does not elect n1
	for _, args := range [][]string{{"lesson", "3", "--json"}, {"lesson", "3"}} {
		var out, err bytes.Buffer
		require.Equal(t, 1, newProgram(registry).run(t.Context(), args, &out, &err))
		require.Contains(t, err.String(), "elect: lesson 3: scenario 3-all, line 9, column 1: leader n1: does not hold")
		if len(args) == 3 {
			var l lessonObject
			decodeStrictly(t, out.String(), &l)
			require.False(t, l.Runs[0].Holds)
			require.Contains(t, l.Runs[0].Error, "leader n1")
		}
	}
}
