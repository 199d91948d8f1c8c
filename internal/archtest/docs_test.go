package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// textOf is the text of the Go files in some rooms, tests or what is none.
func textOf(t *testing.T, tests bool, rooms ...string) string {
	var all strings.Builder
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != tests {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		require.NoError(t, err)
	}
	return all.String()
}

// A test that a document names is there to be run.
func TestTheTestsThatDocumentsNameExist(t *testing.T) {
	code := textOf(t, true, ".")
	documents, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, documents)
	for _, document := range append(documents, "../../README.md") {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1) {
			require.Contains(t, code, "func "+name+"(t ", "%s names a test that does not exist", document)
		}
	}
}

// The lines that a node logs are those of the table of docs/operations.md, by their beginnings.
func TestTheTableOfTheLogIsThatOfTheCode(t *testing.T) {
	code := textOf(t, false, "cluster", "command", "secure", "transport")
	var logged []string
	for _, call := range regexp.MustCompile(`\.(?:Debug|Info|Warn|Error)\("([^"]+)"|\.(?:Line|report|log)\((?:[^",()]+, ){1,2}"([^"]+)"`).FindAllStringSubmatch(code, -1) {
		logged = append(logged, call[1]+call[2])
	}
	require.NotEmpty(t, logged)
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n## What the log says\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	var described []string
	for _, row := range regexp.MustCompile(`(?m)^\| (?:debug|info|warn|error) \| ([^|]+) \|`).FindAllStringSubmatch(table, -1) {
		for _, line := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.Split(row[1], ", with")[0], -1) {
			described = append(described, strings.TrimRight(line[1], ":… "))
		}
	}
	for _, line := range described {
		require.True(t, slices.ContainsFunc(logged, func(l string) bool { return strings.HasPrefix(l, line) }) || strings.Contains(code, `"`+line+`"`),
			"docs/operations.md describes a line that nothing logs: %s", line)
	}
	for _, line := range logged {
		require.True(t, slices.ContainsFunc(described, func(d string) bool { return strings.HasPrefix(line, d) }),
			"docs/operations.md does not describe the line %q", line)
	}
}
