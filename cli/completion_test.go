package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHelpShowsCompletion(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"completion", "--help"}, {"completion", "zsh", "--help"}} {
		status, out, errors := elect(args...)
		require.Zero(t, status, errors)
		require.Contains(t, out, "\nExamples:\n", args)
		require.Regexp(t, `(?m)^  elect completion [a-z]+ `, out, args)
	}
	_, out, _ := elect("--help")
	require.Regexp(t, `(?m)^  completion +[A-Z]`, out, "the list of commands")
}

func TestCompletionScriptCallsProgram(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		status, out, errors := elect("completion", shell)
		require.Zero(t, status, errors)
		require.Contains(t, out, "__complete", shell)
		path, err := exec.LookPath(shell)
		if err != nil || shell == "powershell" {
			continue // without the shell, only the text can be checked
		}
		check := exec.CommandContext(t.Context(), path, "-n")
		check.Stdin = strings.NewReader(out)
		said, err := check.CombinedOutput()
		require.NoError(t, err, "%s -n: %s", shell, said)
	}
}

func TestCompletionKnowsCommandsAndFlags(t *testing.T) {
	for _, tc := range []struct {
		words []string
		want  string // at the beginning of a line
	}{
		{[]string{"sta"}, "status\t"},
		{[]string{"config", "c"}, "check\t"},
		{[]string{"node", "--data"}, "--data-dir\t"},
		{[]string{"completion", "f"}, "fish\t"},
	} {
		status, out, errors := elect(append([]string{"__complete"}, tc.words...)...)
		require.Zero(t, status, errors)
		require.True(t, strings.HasPrefix(out, tc.want), "%v: %s", tc.words, out)
	}
	_, out, _ := elect("__complete", "ma")
	require.NotContains(t, out, "man", "it is hidden")
}
