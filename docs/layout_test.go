package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// knownLong has the documents that break the rules, with the number of such lines and cells. A number may only fall.
var knownLong = map[string]int{
	"scenarios.md": 11, // the help of elect sim
}

const (
	maxLine = 120 // characters of a line outside a table
	maxCell = 25  // words of a cell
)

// isWhole reports whether a line cannot be divided: a line with nothing but an image, or a directive in the source of a
// lesson.
func isWhole(line string) bool {
	return strings.HasPrefix(line, "![") || strings.HasPrefix(line, "{{")
}

// layoutProblems returns the lines of a document that are too long, and the cells that have too many words.
func layoutProblems(text string) (problems []string) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		cells := tableCells(line)
		if length := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); cells == nil && length > maxLine && !isWhole(line) {
			problems = append(problems, fmt.Sprintf("line %d has %d characters", number, length))
		}
		for _, cell := range cells {
			if words := len(strings.Fields(cell)); words > maxCell {
				problems = append(problems, fmt.Sprintf("line %d has a cell of %d words", number, words))
			}
		}
	}
	return problems
}

// TestDocumentsFitScreen checks every Markdown file of the module.
func TestDocumentsFitScreen(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" { // third-party documents
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		problems := layoutProblems(string(text))
		assert.LessOrEqual(t, len(problems), knownLong[strings.TrimPrefix(filepath.ToSlash(path), "../docs/")], "%s: want at most %d characters in a line, and %d words in a cell:\n%s",
			path, maxLine, maxCell, strings.Join(problems, "\n"))
		return err
	})
	require.NoError(t, err)
}

func TestLayoutProblemsAreFound(t *testing.T) {
	long, wide := strings.Repeat("ä", maxLine+1), strings.Repeat("word ", maxCell+1)
	text := long[2:] + "\n" + long + "\n| " + long + " |\n| " + wide[5:] + " | " + wide + " |\n![" + long + "](a.svg)\n"
	require.Equal(t, []string{"line 2 has 121 characters", "line 4 has a cell of 26 words"}, layoutProblems(text))
}
