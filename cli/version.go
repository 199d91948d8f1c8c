package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
)

// build identifies the program in a bug report.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // revision of the repository, if built there
	Time     string `json:"time,omitempty"`     // time of the revision
	Modified bool   `json:"modified,omitempty"` // whether files were changed since the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Protocol int    `json:"protocol"`
	Oldest   int    `json:"oldest_protocol"`
	Format   int    `json:"data_format"`
}

const modulePath = "github.com/elect-go/elect"

// buildOf reads the build information of the program. In a program of another module, this module is a dependency
// without a revision.
func buildOf(info *debug.BuildInfo, ok bool) build {
	b := build{
		Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Protocol: wire.Version, Oldest: wire.MinVersion, Format: store.Format,
	}
	if !ok {
		return b
	}
	for _, dependency := range info.Deps {
		if dependency.Path == modulePath {
			b.Version = dependency.Version
		}
	}
	if info.Main.Path == modulePath {
		b.Version = info.Main.Version
		b.readRevision(info.Settings)
	}
	return b
}

func (b *build) readRevision(settings []debug.BuildSetting) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// String returns the output of 'elect --version' after the name of the program.
func (b build) String() string {
	line := b.Version
	if b.Revision != "" {
		line += ", revision " + b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		line += " with changes"
	}
	protocol := strconv.Itoa(b.Protocol)
	if b.Oldest != b.Protocol {
		protocol = strconv.Itoa(b.Oldest) + " to " + protocol
	}
	return fmt.Sprintf("%s, %s, %s, protocol %s, data format %d", line, b.Go, b.Platform, protocol, b.Format)
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of this program, of the protocol between nodes, and of the form of the data folder.

Nodes can be in one cluster if their ranges of protocol versions overlap. A node opens a data folder of its own form and of older ones.

With --json, one object: version, revision, time (of the revision), modified (there were changes after it), go, platform,
protocol and oldest_protocol (the ends of the range of protocol versions), data_format. The revision is absent if the program was not built in a clone of the repository.`,
		Example: `  elect version
  elect version --json | jq -r .protocol`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := buildOf(debug.ReadBuildInfo())
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
