package cli

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/examples"
	"github.com/elect-go/elect/internal/buildinfo"
)

// starter contains the templates of the files of a new module that package examples does not have.
//
//go:embed starter/*.tmpl
var starter embed.FS

// goVersion is the go line of a module without a clone: that of this module.
const goVersion = "1.26.0"

func (p *program) newNew() *cobra.Command {
	var clone string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new NAME [DIR]",
		Short: "Make a Go module with an algorithm of your own",
		Long: `Make a Go module with an election algorithm to start from: NAME.go, its tests (the
conformance suite, a unit test, a scenario) and a command that has the algorithm next to
those of this program. It compiles and elects before the first change.
docs/write-your-own.md continues from there.

NAME is the name of the Go package and the word that selects the algorithm. DIR is the
folder of the module, by default NAME. It must be empty, or not exist.

go.mod points to a clone of elect by a replace, so the module builds with GOPROXY=off. The
clone is that of --elect, or the one that this program was built from, or the one around
the working directory. Without a clone, a released program requires its own release.

With --json, one object: name, dir, module (path of the module), clone (folder, absent
without a clone), version (of elect, in go.mod), files (a list, relative to dir).`,
		Example: `  elect new cup
  elect new cup ../cup --elect .
  elect new cup --json | jq -r '.files[]'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 || slices.Contains(args, "") {
				return usagef("new wants the name of an algorithm, and perhaps a folder, and got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			info, _ := debug.ReadBuildInfo()
			if !cmd.Flags().Changed("elect") {
				_, source, _, _ := runtime.Caller(0)
				workingDir, _ := os.Getwd() // without one, the clone is found elsewhere or not at all
				clone = findClone(info, source, workingDir)
			} else if !isClone(clone) {
				return usagef("--elect is %s, want a clone of elect: a folder in which go.mod has the line 'module %s'", strconv.Quote(clone), buildinfo.ModulePath)
			}
			m, err := p.newStarterModule(args, clone, releaseOf(info))
			if err != nil {
				return err
			}
			if err := m.write(); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(m)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), m.summary())
			return err
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&clone, "elect", "", "`folder` of a clone of elect (default: the clone of this program)")
	set.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// starterModule is a new module. The templates read its fields.
type starterModule struct {
	Name    string   `json:"name"`
	Dir     string   `json:"dir"`
	Module  string   `json:"module"`
	Clone   string   `json:"clone,omitempty"` // absolute; empty: a release is required
	Version string   `json:"version"`         // of elect
	Files   []string `json:"files"`

	Elect    string   `json:"-"` // module path of elect
	Go       string   `json:"-"` // go line of go.mod
	Requires []string `json:"-"` // path and version of each module that the clone requires

	texts map[string][]byte // by file, with slashes
}

// newStarterModule makes the texts of all files, and writes none. clone and release are empty if there is none.
func (p *program) newStarterModule(args []string, clone, release string) (m *starterModule, err error) {
	m = &starterModule{Name: args[0], Dir: args[len(args)-1], Module: "example.com/" + args[0], Elect: buildinfo.ModulePath, Go: goVersion, texts: map[string][]byte{}}
	if want := p.wantedName(m.Name); want != "" {
		return nil, usagef("the name is %s, want %s", strconv.Quote(m.Name), want)
	}
	if problem := occupied(m.Dir); problem != "" {
		return nil, usagef("%s %s, want an empty folder, or none", m.Dir, problem)
	}
	switch {
	case clone != "":
		m.Version = "v0.0.0" // any, because of the replace
		if err := m.readClone(clone); err != nil {
			return nil, err
		}
	case release != "":
		m.Version = release
	default:
		return nil, usagef("no clone of elect was found, and this program is no release: name a clone with --elect DIR")
	}
	return m, m.render()
}

// packageName matches the names that a Go package and an algorithm may have.
var packageName = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// predeclared are the identifiers of Go that a package would hide.
var predeclared = strings.Fields(`any append bool byte cap clear close comparable complex complex128 complex64 copy delete
	error false float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println real
	recover rune string true uint uint16 uint32 uint64 uint8 uintptr init main`)

// wantedName returns what name should be, or "" if an algorithm can have that name.
func (p *program) wantedName(name string) string {
	switch {
	case !packageName.MatchString(name):
		return "1 to 32 lower-case letters and digits, a letter first"
	case token.IsKeyword(name) || slices.Contains(predeclared, name):
		return "no word of the Go language"
	case p.registry[name] != nil:
		return "a name that no algorithm of this program has: there are " + strings.Join(p.fields.Algorithms(), ", ")
	}
	for _, f := range p.fields.Fields() {
		section, _, _ := strings.Cut(f.Name, ".")
		if section == name || strings.HasPrefix(f.Flag(), name+"-") {
			return "a name that no setting of a node begins with: there is " + f.Name
		}
	}
	if slices.Contains(usedWords(), name) {
		return "no word that the files of the new module use"
	}
	return ""
}

// occupied returns why no module can be made in dir, or "".
func occupied(dir string) string {
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

// releaseVersion matches the version of a release. A program that was built in a clone has none.
var releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// releaseOf returns the released version of elect in this program, or "".
func releaseOf(info *debug.BuildInfo) string {
	version := buildinfo.Of(info, info != nil).Version
	if !releaseVersion.MatchString(version) || version == "v0.0.0" {
		return ""
	}
	return version
}

var moduleLine = regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(buildinfo.ModulePath) + `\r?$`)

// isClone reports whether dir is the root of a clone of elect.
func isClone(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && moduleLine.Match(text)
}

// findClone returns the clone that this program was built from, or the clone around the working directory, or "".
// source is the path of this file as the compiler knew it.
func findClone(info *debug.BuildInfo, source, workingDir string) string {
	if info != nil {
		for _, d := range info.Deps { // a program of another module, such as a new one
			if d.Path == buildinfo.ModulePath && d.Replace != nil && filepath.IsAbs(d.Replace.Path) && isClone(d.Replace.Path) {
				return d.Replace.Path
			}
		}
	}
	if filepath.IsAbs(source) { // With -trimpath it is not.
		if dir := filepath.Dir(filepath.Dir(source)); isClone(dir) {
			return dir
		}
	}
	for dir := workingDir; dir != ""; dir = filepath.Dir(dir) {
		if isClone(dir) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

var (
	goLine      = regexp.MustCompile(`(?m)^go ([0-9.]+)\r?$`)
	requireLine = regexp.MustCompile(`(?m)^(?:require |\t)([a-zA-Z0-9.-]+\.[a-z]+/\S+ v\S+)(?: // indirect)?\r?$`)
)

// readClone adds what go.mod and go.sum take from the clone: all versions that the clone requires. The go command then
// needs no network.
func (m *starterModule) readClone(dir string) (err error) {
	if m.Clone, err = filepath.Abs(dir); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(m.Clone, "go.mod"))
	if err != nil {
		return err
	}
	if line := goLine.FindSubmatch(text); line != nil {
		m.Go = string(line[1])
	}
	for _, line := range requireLine.FindAllSubmatch(text, -1) {
		m.Requires = append(m.Requires, string(line[1]))
	}
	slices.Sort(m.Requires)
	sums, err := os.ReadFile(filepath.Join(m.Clone, "go.sum"))
	m.texts["go.sum"] = sums
	return err
}

// Replace returns the folder of the clone as go.mod has it, or "".
func (m *starterModule) Replace() string {
	if strings.ContainsAny(m.Clone, " \"'`()[]{},") || strings.Contains(m.Clone, "//") {
		return strconv.Quote(m.Clone)
	}
	return m.Clone
}

// exampleFiles are the files of the example in package examples, in its folder. A new module has them under its name.
var exampleFiles = []string{"omega.go", "omega_test.go", "cmd/main.go", scenarioFile}

const scenarioFile = "scenario.txt"

// readExample returns the text of one of exampleFiles.
func readExample(file string) string {
	text, err := examples.Omega.ReadFile("omega/" + file)
	if err != nil {
		panic(err) // It is embedded.
	}
	return string(text)
}

var (
	codeComment = regexp.MustCompile(`//.*`)
	codeWord    = regexp.MustCompile(`\w+`)
)

// usedWords returns the words in the code of the example. As the name of a package, some of them would have two
// meanings there.
func usedWords() (words []string) {
	for _, file := range exampleFiles {
		if file == scenarioFile {
			continue
		}
		words = append(words, codeWord.FindAllString(codeComment.ReplaceAllString(readExample(file), ""), -1)...)
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "omega" })
}

// rename returns a text of the example for this module.
func (m *starterModule) rename(text string) string {
	text = strings.ReplaceAll(text, buildinfo.ModulePath+"/examples/omega", m.Module)
	text = strings.ReplaceAll(text, "./examples/omega/", "./")
	return strings.ReplaceAll(text, "omega", m.Name)
}

// render makes all files.
func (m *starterModule) render() error {
	for _, file := range exampleFiles {
		m.texts[strings.Replace(file, "omega", m.Name, 1)] = []byte(m.rename(readExample(file)))
	}
	for _, file := range []string{"go.mod", "README.md"} {
		t, err := template.ParseFS(starter, "starter/"+file+".tmpl")
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, m); err != nil {
			return err
		}
		m.texts[file] = text.Bytes()
	}
	m.Files = slices.Sorted(maps.Keys(m.texts))
	return nil
}

// write writes all files. If that fails, it removes those that it has written.
func (m *starterModule) write() (err error) {
	var written []string
	defer func() {
		if err != nil {
			for _, path := range written {
				_ = os.Remove(path)
			}
		}
	}()
	for _, file := range m.Files {
		path := filepath.Join(m.Dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		written = append(written, path)
		_, err = f.Write(m.texts[file])
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// summary names the files and the next commands.
func (m *starterModule) summary() string {
	from := "the clone " + m.Clone
	if m.Clone == "" {
		from = "release " + m.Version
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: module %s, with %s of elect\n", m.Dir, m.Module, from)
	for _, file := range m.Files {
		fmt.Fprintf(&text, "  %s\n", file)
	}
	fmt.Fprintf(&text, "Next:\n  cd %s\n", m.Dir)
	if m.Clone == "" {
		text.WriteString("  go mod tidy\n")
	}
	fmt.Fprintf(&text, "  go test ./...\n  go run ./cmd demo --algorithm %s\n", m.Name)
	return text.String()
}
