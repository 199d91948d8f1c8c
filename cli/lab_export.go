package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/buildinfo"
	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/internal/labpage"
)

// exportResult is the result of elect lab --export, as JSON.
type exportResult struct {
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
	Gzip  int    `json:"gzip_bytes"`
}

// exportLab writes the page as one file.
func (p *program) exportLab(ctx context.Context, cmd *cobra.Command, flags *labFlags) error {
	if info, err := os.Stat(filepath.Dir(flags.export)); err != nil || !info.IsDir() {
		return usagef("--export is %s, want a file in a folder that exists", strconv.Quote(flags.export))
	}
	clone, err := flags.findClone(cmd)
	if err != nil {
		return err
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != buildinfo.ModulePath {
		fmt.Fprintln(cmd.ErrOrStderr(), "elect: the page has the algorithms of elect, and not those that this program adds")
	}
	module, err := labpage.BuildModule(ctx, clone)
	if err != nil {
		return err
	}
	page, err := labpage.Export(ctx, lab.BuildFrom(p.registry), module)
	if err != nil {
		return err
	}
	packed, err := labpage.Pack(page)
	if err != nil {
		return err
	}
	if err := os.WriteFile(flags.export, page, 0o666); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	r := exportResult{File: flags.export, Bytes: len(page), Gzip: len(packed)}
	if flags.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has %d bytes, %d after gzip. A browser opens it from the disk; it needs no server.\n", r.File, r.Bytes, r.Gzip)
	return err
}

// findClone returns the clone that the module of the page is built from.
func (f *labFlags) findClone(cmd *cobra.Command) (string, error) {
	clone, err := cloneFlag(cmd, f.elect)
	if err == nil && clone == "" {
		err = usagef("--export builds a part of the page from a clone of elect, and no clone was found: name one with --elect DIR")
	}
	return clone, err
}
