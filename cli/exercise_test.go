package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/exercise"
	"github.com/elect-go/elect/internal/testkit"
)

func TestExerciseListNamesAll(t *testing.T) {
	status, stdout, stderr := elect("exercise", "list")
	require.Zero(t, status, stderr)
	for _, name := range exercise.Names() {
		require.Regexp(t, `(?m)^`+name+` +20 points  \S`, stdout)
	}
	status, stdout, stderr = elect("exercise", "list", "--json")
	require.Zero(t, status, stderr)
	var all []map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Len(t, all, len(exercise.Names()))
	require.ElementsMatch(t, []string{"name", "title", "source", "points"}, keysOfMap(all[0]))
}

func keysOfMap(m map[string]any) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

func TestExerciseNewWritesModule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	status, stdout, stderr := elect("exercise", "new", "bully", dir, "--json")
	require.Zero(t, status, stderr)
	require.Equal(t, []string{"clone", "dir", "exercise", "files", "module"}, keys(t, stdout))
	for _, file := range []string{"README.md", "bully.go", "bully_test.go", "go.mod"} {
		require.FileExists(t, filepath.Join(dir, file))
	}
	status, stdout, stderr = elect("exercise", "new", "bugs", filepath.Join(t.TempDir(), "bugs"))
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "bug4/ring.go\n")
	require.Contains(t, stdout, "Next: read ")

	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"bully"}, "exercise new wants the name of an exercise and a folder, and got 1"},
		{[]string{"bullies", dir + "2"}, `the exercise is "bullies", want one of bully, test, hirschberg-sinclair, bugs`},
		{[]string{"bully", dir}, dir + " has files in it, such as README.md, want an empty folder, or none"},
		{[]string{"bully", dir + "2", "--elect", dir}, "want a clone of elect"},
	} {
		status, stdout, stderr := elect(append([]string{"exercise", "new"}, tc.args...)...)
		require.Equal(t, statusUsage, status, tc.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, tc.want)
	}
}

func TestExerciseBundleWritesOneFile(t *testing.T) {
	testkit.OnlyLong(t)
	file := filepath.Join(t.TempDir(), "bully.zip")
	status, stdout, stderr := elect("exercise", "bundle", "bully", file, "--json")
	require.Zero(t, status, stderr)
	require.Equal(t, []string{"bytes", "exercise", "file"}, keys(t, stdout))
	require.FileExists(t, file)
	status, _, stderr = elect("exercise", "bundle", "bully", file)
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "file exists")
	status, _, stderr = elect("exercise", "bundle", "bully")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "exercise bundle wants the name of an exercise and a file, and got 1")
}

func TestGradePrintsPointsAndRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	status, _, stderr := elect("exercise", "new", "bully", dir)
	require.Zero(t, status, stderr)
	status, stdout, stderr := elect("grade", dir)
	require.Equal(t, statusFailed, status)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "rule-1         not-run  0 of 2\n")
	require.Contains(t, stdout, "\nbully: 0 of 20 points. bully.go is still as 'elect exercise new' made it. To begin, fill in startElection, which is rule 1.")

	text, err := os.ReadFile("../internal/exercise/testdata/solutions/bully/bully.go")
	require.NoError(t, err)
	faulty := strings.Replace(string(text), "\tenv.Send(from, Answer{})\n", "", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bully.go"), []byte(faulty), 0o600))
	status, stdout, stderr = elect("grade", dir, "--elect", "..")
	require.Equal(t, statusFailed, status)
	require.Empty(t, stderr)
	for _, want := range []string{
		"rule-1         passed  2 of 2\n",
		"\nrule-2 failed. When n2 receives election from n1, it must do this and does not: \"sends answer to n1\".\nRule 2: ",
		"\n       1  ○●                      n1: starts\n",
		"\nbully: 12 of 20 points. Mend rule-2 first. When n2 receives election from n1, ",
	} {
		require.Contains(t, stdout, want)
	}
	page, err := os.ReadFile("../docs/exercises.md")
	require.NoError(t, err)
	_, example, _ := strings.Cut(string(page), "```\n")
	example, _, _ = strings.Cut(example, "```")
	for line := range strings.Lines(example) {
		require.Contains(t, stdout, "\n"+line, "the example of docs/exercises.md")
	}
	for line := range strings.Lines(stdout) {
		require.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), "no space at the end of a line")
	}
}

func TestGradeOfGoodSubmission(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	status, _, stderr := elect("exercise", "new", "bully", dir)
	require.Zero(t, status, stderr)
	text, err := os.ReadFile("../internal/exercise/testdata/solutions/bully/bully.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bully.go"), text, 0o600))
	status, stdout, stderr := elect("grade", dir, "--json")
	require.Zero(t, status, stderr)
	require.Equal(t, []string{"checks", "exercise", "max", "message", "points"}, keys(t, stdout))
	var g exercise.Grade
	decodeStrictly(t, stdout, &g)
	page, err := os.ReadFile("../docs/exercises.md")
	require.NoError(t, err)
	for _, typ := range []reflect.Type{reflect.TypeFor[exercise.Grade](), reflect.TypeFor[exercise.CheckGrade]()} {
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			require.Regexp(t, "`(checks\\[\\])?\\.?"+name+"`", string(page))
			require.Contains(t, newGrade().Long, name)
		}
	}
	require.Equal(t, 20, g.Points)
	for _, c := range g.Checks {
		require.Equal(t, exercise.Passed, c.Status)
	}
}

func TestGradeRejectsFolders(t *testing.T) {
	empty := t.TempDir()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "grade wants the folder of an exercise, and got 0"},
		{[]string{empty}, empty + " has no go.mod, want a module that 'elect exercise new' has made: bully, "},
		{[]string{empty, "--elect", empty}, "want a clone of elect"},
		{[]string{".."}, "is the module github.com/elect-go/elect, want example.com/exercise/"},
	} {
		status, stdout, stderr := elect(append([]string{"grade"}, tc.args...)...)
		require.Equal(t, statusUsage, status, tc.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, tc.want)
	}
}
