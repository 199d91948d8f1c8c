package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/buildinfo"
)

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of this program, of the protocol between nodes, and of the form of the data directory.

Nodes can be in one cluster if their ranges of protocol versions overlap. A node opens a data directory of its own form and of older ones.

With --json, one object: version, revision, time (of the revision), modified (there were changes after it), go, platform,
protocol and oldest_protocol (the ends of the range of protocol versions), data_format. The revision is absent if the program was not built in a clone of the repository.`,
		Example: `  elect version
  elect version --json | jq -r .protocol`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := buildinfo.Read()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "elect version", b)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
