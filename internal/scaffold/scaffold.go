// Package scaffold makes Go modules that use elect and build without a network.
//
//	source, err := scaffold.FromClone(scaffold.FindClone())
//	m := scaffold.Module{Dir: "cup", Path: "example.com/cup", Source: source, Files: files}
//	err = m.Write()
//
// The module points to a clone of elect by a replace, and requires all versions that the clone requires. So the go
// command needs nothing that it has not fetched for the clone. Without a clone, the module requires a release.
package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/internal/buildinfo"
)

// GoVersion is the go line of a module without a clone: that of this module.
const GoVersion = "1.26.0"

// Source is the elect that a module uses.
type Source struct {
	Clone    string   // absolute; empty: a release is required
	Version  string   // of elect, in go.mod
	Go       string   // go line of go.mod
	Requires []string // path and version of each module that the clone requires

	sums []byte // go.sum of the clone
}

// FromRelease returns the source of a module that requires a release.
func FromRelease(version string) Source { return Source{Version: version, Go: GoVersion} }

// FromClone reads go.mod and go.sum of the clone in dir.
func FromClone(dir string) (s Source, err error) {
	s = Source{Version: "v0.0.0", Go: GoVersion} // any version, because of the replace
	if s.Clone, err = filepath.Abs(dir); err != nil {
		return s, err
	}
	text, err := os.ReadFile(filepath.Join(s.Clone, "go.mod"))
	if err != nil {
		return s, err
	}
	goLine := regexp.MustCompile(`(?m)^go ([0-9.]+)\r?$`)
	requireLine := regexp.MustCompile(`(?m)^(?:require |\t)([a-zA-Z0-9.-]+\.[a-z]+/\S+ v\S+)(?: // indirect)?\r?$`)
	if line := goLine.FindSubmatch(text); line != nil {
		s.Go = string(line[1])
	}
	for _, line := range requireLine.FindAllSubmatch(text, -1) {
		s.Requires = append(s.Requires, string(line[1]))
	}
	slices.Sort(s.Requires)
	s.sums, err = os.ReadFile(filepath.Join(s.Clone, "go.sum"))
	return s, err
}

// Replace returns the folder of the clone as go.mod has it, or "".
func (s Source) Replace() string {
	if strings.ContainsAny(s.Clone, " \"'`()[]{},") || strings.Contains(s.Clone, "//") {
		return strconv.Quote(s.Clone)
	}
	return s.Clone
}

// Module is a new module.
type Module struct {
	Dir    string // its folder
	Path   string // its module path
	Source Source
	Files  map[string][]byte // by path in the module, with slashes; without go.mod and go.sum
}

// GoMod returns the text of go.mod.
func (m *Module) GoMod() string {
	var text strings.Builder
	fmt.Fprintf(&text, "module %s\n\ngo %s\n\nrequire %s %s\n", m.Path, m.Source.Go, buildinfo.ModulePath, m.Source.Version)
	if len(m.Source.Requires) > 0 {
		text.WriteString("\n// What elect needs, in the versions of the clone.\nrequire (\n")
		for _, module := range m.Source.Requires {
			fmt.Fprintf(&text, "\t%s // indirect\n", module)
		}
		text.WriteString(")\n")
	}
	if replace := m.Source.Replace(); replace != "" {
		fmt.Fprintf(&text, "\nreplace %s => %s\n", buildinfo.ModulePath, replace)
	}
	return text.String()
}

// GoSum returns the text of go.sum, which is empty without a clone.
func (m *Module) GoSum() []byte { return m.Source.sums }

// texts returns all files of the module.
func (m *Module) texts() map[string][]byte {
	all := maps.Clone(m.Files)
	all["go.mod"] = []byte(m.GoMod())
	if m.Source.sums != nil {
		all["go.sum"] = m.Source.sums
	}
	return all
}

// Names returns the names of all files of the module, sorted.
func (m *Module) Names() []string { return slices.Sorted(maps.Keys(m.texts())) }

// Write writes all files, and replaces none. If that fails, it removes those that it has written.
func (m *Module) Write() (err error) {
	var written []string
	defer func() {
		if err != nil {
			for _, path := range written {
				_ = os.Remove(path)
			}
		}
	}()
	texts := m.texts()
	for _, file := range m.Names() {
		path := filepath.Join(m.Dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		written = append(written, path)
		_, err = f.Write(texts[file])
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Occupied returns why no module can be made in dir, as the rest of a sentence, or "".
func Occupied(dir string) string {
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "cannot be read as a folder"
	case len(entries) > 0:
		return "has files in it, such as " + entries[0].Name()
	}
	return ""
}
