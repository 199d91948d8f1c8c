package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documentLines returns the shell lines of README.md and docs/operations.md without prompts and comments. The sections
// of skipped are left out.
func documentLines(t *testing.T, skipped ...string) (lines []string) {
	t.Helper()
	for _, page := range []string{"../README.md", "../docs/operations.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, part := range strings.Split(string(text), "\n## ") {
			heading, _, _ := strings.Cut(part, "\n")
			if i > 0 && slices.Contains(skipped, heading) {
				continue
			}
			for line := range strings.Lines(part) {
				if command := shellLine(line); command != "" {
					lines = append(lines, command)
				}
			}
		}
	}
	return lines
}

var (
	shellPrompt  = regexp.MustCompile(`^ {4,}(?:[a-e]?\$ |0 3 \* \* \* )?`)
	shellComment = regexp.MustCompile(` +# .*$`)
	shellCommand = regexp.MustCompile(`^(elect|go|kill|rm|vi) |^[A-Z]+=`)
)

// shellLine returns the command in a line of a page, or nothing.
func shellLine(line string) string {
	command := shellPrompt.ReplaceAllString(strings.TrimRight(line, " \n"), "")
	if !strings.HasPrefix(line, "    ") || !shellCommand.MatchString(command) {
		return ""
	}
	return shellComment.ReplaceAllString(command, "")
}

func TestShellLineIsFound(t *testing.T) {
	for line, want := range map[string]string{
		"    elect leave NODE          # this one": "elect leave NODE",
		"       d$ kill $(pidof elect)\n":          "kill $(pidof elect)",
		"    $ go run ./cmd/elect demo":            "go run ./cmd/elect demo",
		"    0 3 * * * elect run --once -- x":      "elect run --once -- x",
		"    MEMBERS=a:1,b:2":                      "MEMBERS=a:1,b:2",
		"    elect: cluster: rejected":             "",
		"       ExecStart=/usr/local/bin/elect x":  "",
		"elect status prints":                      "",
	} {
		require.Equal(t, want, shellLine(line), line)
	}
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	electSpan   = regexp.MustCompile("`(elect [^`]+)`")
)

// The commands and flags that a page names exist.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/lessons/*.md", "../deploy/*/*.md", "../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	commands := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		text := fencedBlock.ReplaceAllString(string(content), "")
		var named []string
		for _, span := range electSpan.FindAllStringSubmatch(text, -1) {
			named = append(named, strings.Join(strings.Fields(span[1]), " "))
		}
		for line := range strings.Lines(text) {
			if command := shellLine(line); strings.HasPrefix(command, "elect ") {
				named = append(named, command)
			}
		}
		for _, command := range named {
			commands++
			command, _, _ = strings.Cut(command, " | ")
			command, _, _ = strings.Cut(command, "; ")
			command, _, _ = strings.Cut(command, " -- ")
			words := strings.Fields(strings.NewReplacer("…", "", "[", "", "]", "", "'", "", `\`, "").Replace(command))[1:]
			cmd, rest, err := builtins.newRoot().Find(words)
			require.NoError(t, err, "%s names %q", page, command)
			for _, word := range rest {
				name, isFlag := strings.CutPrefix(word, "--")
				name, _, _ = strings.Cut(name, "=")
				if isFlag && name != "" && name != "help" && name != "version" {
					require.NotNil(t, cmd.Flags().Lookup(name), "%s names %q, which has no flag --%s", page, command, name)
				}
			}
		}
	}
	require.Greater(t, commands, 100)
}
