// Package docs has no code. Its tests compare the pages at the root of the module and in this folder with the
// source: the tests that they name, the log messages that they describe, and the files that
// they link to.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = ".."

// readDocuments returns the text of each page in docs and at the root of the module, by path.
func readDocuments(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, folder := range []string{"lessons", "lessons/solutions"} {
		pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
		require.NoError(t, err)
		paths = append(paths, pages...)
	}
	documents := make(map[string]string)
	atRoot, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	for _, path := range append(paths, atRoot...) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		documents[path] = string(text)
	}
	return documents
}

// readSource returns the text of the Go files below some folders of the module: either of the test files, or of all
// others.
func readSource(t *testing.T, tests bool, folders ...string) string {
	t.Helper()
	var source strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != tests {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		require.NoError(t, err)
	}
	return source.String()
}

var testName = regexp.MustCompile(`\bTest[A-Z]\w+`)

func TestNamedTestsExist(t *testing.T) {
	source := readSource(t, true, ".")
	for path, text := range readDocuments(t) {
		for _, name := range testName.FindAllString(text, -1) {
			require.Contains(t, source, "func "+name+"(t ", "%s names a test that does not exist", path)
		}
	}
}

var (
	code = regexp.MustCompile("(?s)```.*?```|`[^`]*`") // a block or a span, in which brackets are no link
	link = regexp.MustCompile(`\]\(([^)\s]+)`)
)

// brokenLinks returns the relative links in a document that lead to no file.
func brokenLinks(path, text string) (broken []string) {
	for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		target, _, _ := strings.Cut(match[1], "#") // without the section
		if target == "" || strings.Contains(target, "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
			broken = append(broken, match[1])
		}
	}
	return broken
}

func TestRelativeLinksExist(t *testing.T) {
	for path, text := range readDocuments(t) {
		require.Empty(t, brokenLinks(path, text), "%s links to files that do not exist", path)
	}
}

var functionLink = regexp.MustCompile("\\[`((?:[A-Za-z]+\\.)?[A-Za-z]+)`\\]\\(([^)]+\\.go)\\)")

// missingFunctions returns the links of a document to a Go file that does not declare the function or the type that the
// text of the link names.
func missingFunctions(path, text string) (missing []string) {
	for _, link := range functionLink.FindAllStringSubmatch(text, -1) {
		name, file := link[1], filepath.Join(filepath.Dir(path), link[2])
		source, err := os.ReadFile(file)
		receiver, method, isMethod := strings.Cut(name, ".")
		declaration := `(?m)^(func (\(\w+ \*?\w+\) )?|type |package )` + name + `\b`
		if isMethod {
			declaration = `(?m)^func \(\w+ \*?` + receiver + `\) ` + method + `\(`
		}
		if err != nil || !regexp.MustCompile(declaration).Match(source) {
			missing = append(missing, name+" in "+link[2])
		}
	}
	return missing
}

func TestLinkedFunctionsExist(t *testing.T) {
	linked := 0
	for path, text := range readDocuments(t) {
		require.Empty(t, missingFunctions(path, text), path)
		linked += len(functionLink.FindAllString(text, -1))
	}
	require.Greater(t, linked, 30)
	require.Equal(t, []string{"Engine.Gone in ../internal/engine/engine.go", "gone in ../fd/fd.go", "New in ../fd/gone.go"}, missingFunctions("page.md",
		"[`Engine.Gone`](../internal/engine/engine.go) [`Engine.Start`](../internal/engine/engine.go) [`gone`](../fd/fd.go) [`New`](../fd/fd.go) [`New`](../fd/gone.go)"))
}

// TestPictureShowsPackages compares the names in the picture of the packages with the folders.
func TestPictureShowsPackages(t *testing.T) {
	picture, err := os.ReadFile("architecture.svg")
	require.NoError(t, err)
	names := regexp.MustCompile(`class="package"[^>]*>([^<]+)<`).FindAllSubmatch(picture, -1)
	require.Greater(t, len(names), 15)
	for _, name := range names {
		require.DirExists(t, filepath.Join(root, string(name[1])))
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	text := "[a](operations.md#start) [`b`](../README.md) [c](https://example.com/x) [d](#here) `list[T](x)`\n" +
		"```go\nlist[T](x)\n```\n[e](gone.md) [f](../docs/gone.md#start \"title\")"
	require.Equal(t, []string{"gone.md", "../docs/gone.md#start"}, brokenLinks("operations.md", text))
}

var (
	logCall  = regexp.MustCompile(`\.(?:Debug|Info|Warn|Error)\("([^"]+)"|\.(?:Line|report|log)\((?:[^",()]+, ){1,2}"([^"]+)"|\.warn\((?:""|[^",()]+), "([^"]+)"`)
	logRow   = regexp.MustCompile(`(?m)^\| (?:debug|info|warn|error) \| ([^|]+) \|`)
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

// A row of the table in operations.md may give only the beginning of a log message.
func TestLogTableMatchesSource(t *testing.T) {
	source := readSource(t, false, "cluster", "cli", "tlsauth", "transport")
	var logged []string
	for _, call := range logCall.FindAllStringSubmatch(source, -1) {
		logged = append(logged, call[1]+call[2]+call[3])
	}
	require.NotEmpty(t, logged)
	page, err := os.ReadFile("operations.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n## What the log says\n")
	require.True(t, found, "operations.md has no section about the log")
	table, _, _ = strings.Cut(table, "\n## ")
	var described []string
	for _, row := range logRow.FindAllStringSubmatch(table, -1) {
		messages, _, _ := strings.Cut(row[1], ", with") // what follows are attributes
		for _, span := range codeSpan.FindAllStringSubmatch(messages, -1) {
			described = append(described, strings.TrimRight(span[1], ":… "))
		}
	}
	for _, message := range described {
		isLogged := slices.ContainsFunc(logged, func(l string) bool { return strings.HasPrefix(l, message) })
		require.True(t, isLogged || strings.Contains(source, `"`+message+`"`),
			"operations.md describes a message that no package logs: %s", message)
	}
	for _, message := range logged {
		isDescribed := slices.ContainsFunc(described, func(d string) bool { return strings.HasPrefix(message, d) })
		require.True(t, isDescribed, "operations.md does not describe the log message %q", message)
	}
}
