package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/buildinfo"
)

// allCommands returns root and all commands below it, with completion.
func allCommands(root *cobra.Command) []*cobra.Command {
	addCompletion(root)
	all := []*cobra.Command{root}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	return all
}

func TestManPageNamesAllFlags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "man1")
	status, out, errors := elect("man", dir, "--json")
	require.Zero(t, status, errors)
	var o pagesObject
	decodeStrictly(t, out, &o)
	want, flags := []string{}, 0
	for _, cmd := range allCommands(builtins.newRoot()) {
		if cmd.Hidden || cmd.IsAdditionalHelpTopicCommand() {
			continue
		}
		path := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		want = append(want, path)
		text, err := os.ReadFile(path)
		require.NoError(t, err, "elect %shas no page", commandOf(cmd))
		page := strings.ReplaceAll(string(text), `\-`, "-")
		require.Contains(t, page, cmd.Short)
		require.Contains(t, page, ".SH EXAMPLE\n", cmd.CommandPath())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				require.Regexp(t, `--`+f.Name+`\b`, page, cmd.CommandPath())
				flags++
			}
		})
	}
	require.ElementsMatch(t, want, o.Pages)
	require.Greater(t, flags, 100)
}

func TestManPageHasDateOfRevision(t *testing.T) {
	for _, tc := range []struct {
		b    buildinfo.Build
		want string
	}{
		{buildinfo.Build{Version: "v0.1.0", Time: "2026-01-02T03:04:05Z"}, `.TH "ELECT-SIM" "1" "Jan 2026" "elect v0.1.0" "elect"`},
		{buildinfo.Build{Version: "v0.1.0"}, `.TH "ELECT-SIM" "1" "` + time.Unix(86400, 0).Format("Jan 2006") + `" "elect v0.1.0" "elect"`},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", "86400")
		dir := t.TempDir()
		_, err := writePages(builtins.newRoot(), dir, tc.b)
		require.NoError(t, err)
		page, err := os.ReadFile(filepath.Join(dir, "elect-sim.1"))
		require.NoError(t, err)
		require.Contains(t, string(page), tc.want)
		require.NotRegexp(t, regexp.MustCompile(`\.SH HISTORY`), string(page), "it has the day of the run")
	}
}

func TestManReportsFolderThatIsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	status, _, errors := elect("man", file)
	require.Equal(t, statusFailed, status)
	require.Contains(t, errors, file)
	status, _, errors = elect("man")
	require.Equal(t, statusUsage, status)
	require.Contains(t, errors, "man wants one folder, and got 0")
}
