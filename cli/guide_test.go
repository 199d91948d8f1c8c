package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// guideBlock matches one block of docs/write-your-own.md: a command and the output below it, a diff of cup.go, or new
// lines of scenario.txt.
var guideBlock = regexp.MustCompile("(?m)^    \\$ (.*)\n((?:    [^$\n].*\n)*)|^```diff\n((?:.*\n)*?)```$|^```\n((?:.*\n)*?)```$")

// guideStep is one block.
type guideStep struct {
	command string
	fails   bool
	output  []string // lines of the output, in this order
	removed []string // lines of cup.go that the next command runs without
	added   string   // new lines of scenario.txt
}

func guideSteps(page string) (steps []guideStep) {
	for _, block := range guideBlock.FindAllStringSubmatch(page, -1) {
		var s guideStep
		s.command, s.fails = strings.CutSuffix(block[1], "    # fails")
		for line := range strings.Lines(block[2]) {
			s.output = append(s.output, strings.TrimSpace(line))
		}
		for line := range strings.Lines(block[3]) {
			s.removed = append(s.removed, strings.TrimPrefix(line, "-"))
		}
		s.added = block[4]
		steps = append(steps, s)
	}
	return steps
}

func readGuide(t *testing.T) []guideStep {
	page, err := os.ReadFile("../docs/write-your-own.md")
	require.NoError(t, err)
	return guideSteps(string(page))
}

func TestGuideStepsAreFound(t *testing.T) {
	steps := guideSteps("text\n\n    $ a b    # fails\n      one\n    two\n    $ c\n\n```diff\n-\tx\n```\n\n```\nrun 1s\n```\n")
	require.Equal(t, []guideStep{
		{command: "a b", fails: true, output: []string{"one", "two"}}, {command: "c"}, {removed: []string{"\tx\n"}}, {added: "run 1s\n"},
	}, steps)
}

// A new module contains each line that the guide deletes, and TestGuide can run each command of the guide.
func TestGuideFitsNewModule(t *testing.T) {
	steps := readGuide(t)
	require.Greater(t, len(steps), 15)
	text, err := os.ReadFile(filepath.Join(newModule(t, "cup"), "cup.go"))
	require.NoError(t, err)
	for _, s := range steps {
		for _, line := range s.removed {
			require.Contains(t, string(text), line)
		}
		require.Regexp(t, `^(|cd \.\./cup|go run \./cmd/elect new cup \.\./cup|go run \./cmd .*|go test .*)$`, s.command)
	}
}

// TestGuide follows docs/write-your-own.md and compares the output of each command. Columns may have other widths, and
// there may be more of them: a line of the output must contain the words of the guide's line.
func TestGuide(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cup")
	source, scenario, program := filepath.Join(dir, "cup.go"), filepath.Join(dir, "scenario.txt"), filepath.Join(t.TempDir(), "elect")
	var whole []byte // cup.go before a line was removed
	for _, s := range readGuide(t) {
		words := strings.Fields(strings.ReplaceAll(s.command, "'", ""))
		var cmd *exec.Cmd
		switch {
		case s.removed != nil:
			text, err := os.ReadFile(source)
			require.NoError(t, err)
			whole = text
			for _, line := range s.removed {
				text = []byte(strings.Replace(string(text), line, "", 1))
			}
			require.NoError(t, os.WriteFile(source, text, 0o600))
			continue
		case s.added != "":
			text, err := os.ReadFile(scenario)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(scenario, append(text, s.added...), 0o600))
			continue
		case words[0] == "cd":
			continue
		case strings.HasPrefix(s.command, "go run ./cmd/elect "):
			words[len(words)-1] = dir
			status, _, stderr := elect(words[3:]...)
			require.Zero(t, status, stderr)
			out, err := goCommand(t, dir, "build", "-o", program, "./cmd").CombinedOutput()
			require.NoError(t, err, "%s", out)
			continue
		case words[1] == "run":
			cmd = exec.CommandContext(t.Context(), program, words[3:]...)
			cmd.Dir = dir
		default:
			cmd = goCommand(t, dir, words[1:]...)
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, context.Cause(t.Context()))
		if whole != nil {
			require.NoError(t, os.WriteFile(source, whole, 0o600))
			whole = nil
		}
		require.Equal(t, s.fails, err != nil, "%s: %v\n%s", s.command, err, out)
		rest := strings.Split(string(out), "\n")
		for _, line := range s.output {
			want := strings.Join(strings.Fields(line), " ")
			for ; len(rest) > 0; rest = rest[1:] {
				got := strings.Join(strings.Fields(rest[0]), " ")
				if _, after, found := strings.Cut(got, want); found && (after == "" || after[0] == ' ') {
					break
				}
			}
			require.NotEmpty(t, rest, "%s: after the lines before it, there is no line %q in\n%s", s.command, line, out)
		}
	}
}
