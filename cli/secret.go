package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/tlsauth"
)

func newSecret() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "secret [FILE]",
		Short: "Make a new secret for a cluster to share",
		Long: `Make a new secret: 32 random bytes as text, with a checksum, so that a typo is found.
Every member of a cluster has it in a file that no other user can read.

With FILE, the secret is written to a new file with mode 0600, and is not printed. A file
that exists is left as it is. Without FILE, the secret is printed. Standard output may be
a file only if no other user can read or change it. A shell usually creates a file that
all users can read, so the redirect 'elect secret > FILE' is rejected.

A file may hold several secrets, one on a line: the first one is used, all are accepted.
So a secret is replaced without a stop: append the new secret on every machine; then move it
to the first line on every machine; then remove the old secret. A node rereads its file for
every new connection, and every few seconds. Connections that were made with a removed secret
end within a minute: members connect again. A # starts a comment.

With --json, one object: secret, or with FILE the name of the file as file.`,
		Example: `  elect secret /etc/elect.secret
  elect secret --json | jq -r .secret`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			result := map[string]string{}
			line := "" // for a reader, in place of result
			if len(args) == 1 {
				if err := createSecret(args[0]); err != nil {
					return err
				}
				result["file"], line = args[0], args[0]+": a new secret, with mode 0600. All members need the same one"
			} else {
				if err := checkSecretOutput(cmd.OutOrStdout()); err != nil {
					return err
				}
				line = tlsauth.NewSecret()
				result["secret"] = line
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// createSecret writes a new secret to a new file. The file has its mode from the start, so no other
// user can open it before the secret is written. A file or link with that name is left as it is.
func createSecret(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w, and a secret is never overwritten: 'elect secret --help' says how to replace one", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, tlsauth.NewSecret())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// checkSecretOutput rejects a regular file that other users can read or write. A change of its mode
// would come too late: another process may have opened the file since the shell created it.
func checkSecretOutput(out io.Writer) error {
	file, ok := out.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if err := disk.CheckSecrecy(file); err != nil {
		return fmt.Errorf("standard output is a file that other users can read or change (mode %04o): "+
			"'elect secret FILE' creates a file with mode 0600", info.Mode().Perm())
	}
	return nil
}
