package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/elect-go/elect/internal/buildinfo"
)

// pagesObject is the result of elect man as JSON.
type pagesObject struct {
	Pages []string `json:"pages"`
}

func newMan() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages of all commands",
		Long: `Write the man pages of all commands into the folder DIR, which is created if it is missing. Existing
pages are replaced. They have the text of --help. 'elect node' has the page elect-node.1.

The date of a page is that of the program's revision. If it is unknown, the date is that of
SOURCE_DATE_EPOCH (in seconds since 1970), or today.

With --json, one object: pages (a list of the files).`,
		Example: `  elect man /usr/local/share/man/man1
  elect man pages --json | jq -r '.pages[]'`,
		Args:   exactly(1, "one folder"),
		Hidden: true, // packages of the command call it
		RunE: func(cmd *cobra.Command, args []string) error {
			pages, err := writePages(cmd.Root(), args[0], buildinfo.Read())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(pagesObject{pages})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d pages\n", args[0], len(pages))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// writePages writes a page for root and each command below it into dir, and returns the paths of the pages.
func writePages(root *cobra.Command, dir string, b buildinfo.Build) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	header := &doc.GenManHeader{Section: "1", Source: "elect " + b.Version, Manual: "elect"}
	if revised, err := time.Parse(time.RFC3339, b.Time); err == nil {
		header.Date = &revised
	}
	root.DisableAutoGenTag = true // it has the day of the run
	if err := doc.GenManTree(root, header, dir); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "elect*.1"))
	slices.Sort(pages)
	return pages, err
}
