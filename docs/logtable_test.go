package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var logAttribute = regexp.MustCompile("`([a-z_]+)`")

// notLogged are words in the table of log lines that are no attributes of these lines: states, and what a limited log
// adds.
var notLogged = map[string]bool{"indirect": true, "suppressed": true}

// TestLogTableNamesAttributes checks the attributes that the table in operations.md names. The file that logs the line
// contains each of them, or it is a setting.
func TestLogTableNamesAttributes(t *testing.T) {
	page, err := os.ReadFile("operations.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "\n## What the log says\n")
	table, _, _ = strings.Cut(table, "\n## ")
	settings, checked := readSource(t, false, "internal/confload"), 0
	for line := range strings.Lines(table) {
		cells := tableCells(line)
		if len(cells) != 3 {
			continue
		}
		source := loggingFiles(t, cells[1])
		for _, word := range logAttribute.FindAllStringSubmatch(cells[2], -1) {
			checked++
			isKnown := strings.Contains(source, `"`+word[1]+`"`) || strings.Contains(settings, `yaml:"`+word[1]+`"`) || notLogged[word[1]]
			require.True(t, isKnown, "operations.md: no file that logs%sknows the attribute %q", cells[1], word[1])
		}
	}
	require.Greater(t, checked, 40)
}

// loggingFiles returns the text of the files that contain a message of a row of the table.
func loggingFiles(t *testing.T, messages string) string {
	t.Helper()
	messages, _, _ = strings.Cut(messages, ", with")
	var source strings.Builder
	for _, folder := range []string{"cluster", "cli", "tlsauth", "transport"} {
		paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, span := range codeSpan.FindAllStringSubmatch(messages, -1) {
				if !strings.HasSuffix(path, "_test.go") && strings.Contains(string(text), `"`+strings.TrimRight(span[1], ":… ")) {
					source.Write(text)
					break
				}
			}
		}
	}
	return source.String()
}
