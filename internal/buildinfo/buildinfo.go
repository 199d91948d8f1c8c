// Package buildinfo identifies the build of this module in a running program.
//
//	fmt.Println(buildinfo.Read()) // v0.1.0, go1.26, linux/amd64, protocol 1, data format 1
package buildinfo

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
)

// Build identifies the program in a bug report.
type Build struct {
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

// ModulePath is the path of this module.
const ModulePath = "github.com/elect-go/elect"

// Read returns the build of this program.
func Read() Build { return Of(debug.ReadBuildInfo()) }

// Of reads the build information of a program. In a program of another module, this module is a dependency without a
// revision.
func Of(info *debug.BuildInfo, ok bool) Build {
	b := Build{
		Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Protocol: wire.Version, Oldest: wire.MinVersion, Format: store.Format,
	}
	if !ok {
		return b
	}
	for _, dependency := range info.Deps {
		if dependency.Path == ModulePath {
			b.Version = dependency.Version
		}
	}
	if info.Main.Path == ModulePath {
		b.Version = info.Main.Version
		b.readRevision(info.Settings)
	}
	return b
}

func (b *Build) readRevision(settings []debug.BuildSetting) {
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
func (b Build) String() string {
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
