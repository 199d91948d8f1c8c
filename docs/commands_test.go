package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	testCommand = regexp.MustCompile("go test ([^`#\n]*)")
	packagePath = regexp.MustCompile(`(?:^| )\./([\w/.]*)`)
	testPattern = regexp.MustCompile(`-(run|bench|fuzz) +('[^']*'|\S+)`)
	testFunc    = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
)

// idlePatterns select no test on purpose, or stand for any test.
var idlePatterns = []string{"xxx", ".", "…"}

// topLevel returns the part of a pattern that selects functions, without the part for subtests. Tables write | as \|.
func topLevel(pattern string) string {
	pattern = strings.ReplaceAll(strings.Trim(pattern, "'"), `\|`, "|")
	depth := 0
	end := strings.IndexFunc(pattern, func(c rune) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		return c == '/' && depth == 0
	})
	if end < 0 {
		return pattern
	}
	return pattern[:end]
}

// missingTests returns the patterns of go test commands in a document that select no function of the package.
func missingTests(t *testing.T, text string) (missing []string) {
	t.Helper()
	for _, command := range testCommand.FindAllStringSubmatch(text, -1) {
		folder := "."
		if paths := packagePath.FindStringSubmatch(command[1]); paths != nil {
			folder = strings.TrimSuffix(paths[1], "...")
		}
		for _, flag := range testPattern.FindAllStringSubmatch(command[1], -1) {
			pattern := topLevel(flag[2])
			if slices.Contains(idlePatterns, pattern) {
				continue
			}
			prefixes := map[string][]string{"run": {"Test", "Fuzz", "Example"}, "bench": {"Benchmark"}, "fuzz": {"Fuzz"}}[flag[1]]
			var names []string
			for _, name := range testFunc.FindAllStringSubmatch(readSource(t, true, filepath.FromSlash(folder)), -1) {
				if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name[1], prefix) }) {
					names = append(names, name[1])
				}
			}
			alternatives := []string{pattern}
			if !strings.Contains(pattern, "(") {
				alternatives = strings.Split(pattern, "|")
			}
			for _, alternative := range alternatives {
				selected, err := regexp.Compile(alternative)
				if err != nil || !slices.ContainsFunc(names, selected.MatchString) {
					missing = append(missing, flag[1]+" "+alternative+" in "+folder)
				}
			}
		}
	}
	return missing
}

func TestCommandsSelectTests(t *testing.T) {
	for path, text := range readDocuments(t) {
		require.Empty(t, missingTests(t, text), path)
	}
}

func TestMissingTestsAreReported(t *testing.T) {
	text := "`go test ./docs -run TestCommandsSelectTests` `go test ./docs -run 'Relative\\|NoSuchTest/case' -v`\n" +
		"    go test -run NoOther ./docs    # a comment\n" +
		"`go test ./bench -run xxx -bench 'Failover/algorithm=(ring|vote)/n=5'` `go test -bench NoBenchmark ./bench` `go test ./...`"
	require.Equal(t, []string{"run NoSuchTest in docs", "run NoOther in docs", "bench NoBenchmark in bench"}, missingTests(t, text))
}
