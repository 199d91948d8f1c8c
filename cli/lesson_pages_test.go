package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fence"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/lesson"
)

const lessonFolder = "../docs/lessons"

// TestLessonPages makes the pages, diagrams and solutions of the lessons from docs/lessons/source, and compares them
// with the committed files. -update writes the files.
func TestLessonPages(t *testing.T) {
	sources, err := filepath.Glob(lessonFolder + "/source/*.md")
	require.NoError(t, err)
	require.Len(t, sources, 6)
	made := make(map[string]bool) // by the path of the file
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".md")
		t.Run(name, func(t *testing.T) {
			m := &lessonPage{t: t, name: name, made: made}
			m.make(source)
		})
	}
	for _, folder := range []string{".", "diagrams", "solutions", "scenarios"} {
		entries, err := os.ReadDir(filepath.Join(lessonFolder, folder))
		require.NoError(t, err)
		for _, entry := range entries {
			path := filepath.Join(lessonFolder, folder, entry.Name())
			if !entry.IsDir() && entry.Name() != "lessons.go" && entry.Name() != "README.md" {
				require.True(t, made[path], "%s is of no lesson", path)
			}
		}
	}
}

// lessonPage makes the files of one lesson.
type lessonPage struct {
	t    *testing.T
	name string
	made map[string]bool
	runs map[string]*lesson.Run
	// objects are the printed JSON objects, by command line.
	objects map[string]map[string]any
}

func (m *lessonPage) make(source string) {
	text, err := os.ReadFile(source)
	require.NoError(m.t, err)
	m.runs, m.objects = make(map[string]*lesson.Run), make(map[string]map[string]any)
	functions := template.FuncMap{
		"run": m.run, "sent": m.sent, "code": m.code, "count": m.count, "measure": m.measure, "figure": m.figure,
		"gate": m.gate, "file": m.file, "holds": m.holds,
	}
	tmpl, err := template.New(m.name).Funcs(functions).Parse(string(text))
	require.NoError(m.t, err)
	var page bytes.Buffer
	require.NoError(m.t, tmpl.Execute(&page, nil))
	lessonText, solution, found := strings.Cut(page.String(), "\n## Solution\n")
	require.True(m.t, found, "%s has no solution", source)
	title, _, _ := strings.Cut(lessonText, "\n")
	note := fmt.Sprintf("<!-- Made from %s by: go test ./cli -run TestLessonPages -update -->\n", "docs/lessons/source/"+m.name+".md")
	m.write(m.name+".md", note+strings.TrimSpace(lessonText)+"\n")
	m.write("solutions/"+m.name+".md", note+title+": the exercise solved\n\n"+strings.TrimSpace(solution)+"\n")
}

// write compares a file with text. With -update it writes the file.
func (m *lessonPage) write(name, text string) {
	path := filepath.Join(lessonFolder, name)
	m.made[path] = true
	if *update {
		require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	committed, err := os.ReadFile(path)
	require.NoError(m.t, err, "-update writes it")
	was, now := strings.Split(string(committed), "\n"), strings.Split(text, "\n")
	for i := range min(len(was), len(now)) {
		require.Equal(m.t, was[i], now[i], "%s, line %d, is not what its source makes of it now (-update writes it)", name, i+1)
	}
	require.Len(m.t, was, len(now), "%s is not what its source makes of it now (-update writes it)", name)
}

// play runs a scenario and requires that all its assertions hold.
func (m *lessonPage) play(name string) *lesson.Run {
	if m.runs[name] == nil {
		r, err := lesson.Play(m.t.Context(), name, builtins.buildLesson)
		require.NoError(m.t, err)
		require.NoError(m.t, r.Err)
		m.runs[name] = r
		m.search(name)
		m.made[filepath.Join(lessonFolder, "scenarios", name+".txt")] = true
	}
	return m.runs[name]
}

// foundBy matches the comment in a scenario that names the search by which it was found.
var foundBy = regexp.MustCompile(`(?m)^# elect (explore .*)$`)

// search repeats the search that found a scenario, if any. The result must be the same scenario.
func (m *lessonPage) search(name string) {
	text, err := lesson.Scenario(name)
	require.NoError(m.t, err)
	command := foundBy.FindStringSubmatch(text)
	if command == nil {
		return
	}
	violations := m.object(command[1])["violations"].([]any)
	require.Len(m.t, violations, 1)
	_, body, _ := strings.Cut(text, command[0]+"\n")
	body = strings.TrimSuffix(strings.TrimSpace(body), "\nviolates one-leader-per-epoch")
	scenario := violations[0].(map[string]any)["scenario"].(string)
	require.Equal(m.t, strings.TrimSpace(scenario), body, "%s is not what the search finds now", name)
}

// run returns the picture of a run, and the same run as a Mermaid diagram.
func (m *lessonPage) run(name string) string {
	r := m.play(name)
	d := r.Diagram()
	m.write("diagrams/"+name+".svg", d.SVG(r.Title()))
	return fmt.Sprintf("![%s](diagrams/%s.svg)\n\n    elect sim --scenario docs/lessons/scenarios/%[2]s.txt --diagram\n\n"+
		"<details>\n<summary>The same as a sequence diagram</summary>\n\n```mermaid\n%[3]s```\n\n</details>", r.Title(), name, d.Mermaid())
}

func (m *lessonPage) sent(name string) int { return m.play(name).Sent }

// file returns the text of a scenario.
func (m *lessonPage) file(name string) string {
	text, err := lesson.Scenario(name)
	require.NoError(m.t, err)
	m.made[filepath.Join(lessonFolder, "scenarios", name+".txt")] = true
	return "```\n" + strings.TrimSpace(text) + "\n```"
}

// object runs a command line with --json, and returns the printed object.
func (m *lessonPage) object(line string) (object map[string]any) {
	if m.objects[line] == nil {
		args := append(strings.Fields(line), "--json")
		if args[0] == "explore" {
			args = append(args, "--save", m.t.TempDir())
		}
		_, out, _ := elect(args...)
		require.NoError(m.t, json.Unmarshal([]byte(out), &object), "elect %s", line)
		m.objects[line] = object
	}
	return m.objects[line]
}

// figure returns a figure from the output of a command, such as "kinds.election" of elect sim. Of a list it returns the
// length: "violations.steps" is the number of steps of the first violation of elect explore.
func (m *lessonPage) figure(line, path string) string {
	var value any = m.object(line)
	for key := range strings.SplitSeq(path, ".") {
		if list, is := value.([]any); is {
			value = list[0]
		}
		value = value.(map[string]any)[key]
	}
	switch value := value.(type) {
	case float64:
		return grouped(int(value))
	case []any:
		return grouped(len(value))
	}
	return fmt.Sprint(value)
}

// count returns a row of a table: the count of a command, and the formula that must give the same number.
func (m *lessonPage) count(what, line, path, formula string) string {
	object := m.object(line)
	e := theory.Election{N: int(object["nodes"].(float64)), Crashed: int(object["crashed"].(float64))}
	text := strings.ReplaceAll(formula, "2^(N−1)", fmt.Sprint(1<<(e.N-1)))
	counted := m.figure(line, path)
	require.Equal(m.t, grouped(int(theory.Formula(text).At(e))), counted, "%s: elect %s", formula, line)
	return fmt.Sprintf("| %s | %s | %s | `elect %s` |", what, formula, counted, line)
}

// measure returns a row without a formula.
func (m *lessonPage) measure(what, line, path string) string {
	return fmt.Sprintf("| %s | | %s | `elect %s` |", what, m.figure(line, path), line)
}

// holds requires that a scenario holds, and returns the command that runs it.
func (m *lessonPage) holds(name string) string {
	m.play(name)
	return "    elect sim --scenario docs/lessons/scenarios/" + name + ".txt"
}

// gate writes to a resource with the tokens of leaders, and describes the replies.
func (m *lessonPage) gate(tokens ...int) string {
	gate := fence.NewMemory()
	var lines []string
	for _, number := range tokens {
		err := gate.Write(m.t.Context(), fence.Token{Cluster: algo.NodeID{15: 1}, Number: uint64(number)}, func() error { return nil })
		said := "written"
		if err != nil {
			said = "refused: " + err.(*fence.RejectedError).Reason.Error()
		}
		lines = append(lines, fmt.Sprintf("| a write with token %d | %s |", number, said))
	}
	return "| what comes | what the gate says |\n|---|---|\n" + strings.Join(lines, "\n")
}

// code returns functions of a file: their text, and a link to their current lines.
func (m *lessonPage) code(path string, names ...string) string {
	source, err := os.ReadFile(filepath.Join("..", path))
	require.NoError(m.t, err)
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(m.t, err)
	var parts []string
	for _, name := range names {
		f := findFunction(file, name)
		require.NotNil(m.t, f, "%s has no function %s", path, name)
		from, to := f.Pos(), f.End()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		first, last := set.Position(from), set.Position(to)
		parts = append(parts, fmt.Sprintf("[`%s`, lines %d to %d of %s](../../%[4]s#L%[2]d-L%[3]d)\n\n```go\n%[5]s\n```", name, first.Line, last.Line, path,
			source[first.Offset:last.Offset]))
	}
	return strings.Join(parts, "\n\n")
}

func findFunction(file *ast.File, name string) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Name.Name == name {
			return f
		}
	}
	return nil
}
