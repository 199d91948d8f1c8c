package command

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/secure"
)

func newSecret() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Print a new secret for a cluster to share",
		Long: `Print a new secret: 32 random bytes as text, with a checksum, so that a typo is found.
Every member of a cluster has it in a file that nobody else can read. A file to which the
output goes is made so (mode 600).

A file may hold several secrets, one on a line: the first one is used, all are believed.
So a secret is replaced without a stop: append the new one on every machine; then have it
stand first on every machine; then remove the old one. A node looks at its file again
when a connection is made. What follows a # is a comment.

With --json, one object: secret.`,
		Example: `  elect secret > /etc/elect.secret
  elect secret --json | jq -r .secret`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := closeToOthers(cmd.OutOrStdout()); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]string{"secret": secure.NewSecret()})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), secure.NewSecret())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// closeToOthers has a file to which the output goes be that of its owner alone: the shell has made it
// for everybody to read.
func closeToOthers(out any) error {
	file, ok := out.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Chmod(0o600)
}
