package cli

import (
	"encoding/json"
	"fmt"
	"go/token"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/examples"
	"github.com/elect-go/elect/internal/buildinfo"
	"github.com/elect-go/elect/internal/scaffold"
)

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
			source, err := electSource(cmd, clone)
			if err != nil {
				return err
			}
			m, err := p.newStarterModule(args, source)
			if err != nil {
				return err
			}
			if err := m.module.Write(); err != nil {
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

// cloneFlag returns the clone of elect that the flag --elect names, or the one that is found, or "".
func cloneFlag(cmd *cobra.Command, named string) (string, error) {
	if !cmd.Flags().Changed("elect") {
		return scaffold.FindClone(), nil
	}
	if !scaffold.IsClone(named) {
		return "", usagef("--elect is %s, want a clone of elect: a folder in which go.mod has the line 'module %s'", strconv.Quote(named), buildinfo.ModulePath)
	}
	return named, nil
}

// electSource returns the elect that a new module uses: a clone, as in cloneFlag, or the release of this program.
func electSource(cmd *cobra.Command, named string) (scaffold.Source, error) {
	clone, err := cloneFlag(cmd, named)
	if err != nil {
		return scaffold.Source{}, err
	}
	info, _ := debug.ReadBuildInfo()
	switch release := scaffold.ReleaseOf(info); {
	case clone != "":
		return scaffold.FromClone(clone)
	case release != "":
		return scaffold.FromRelease(release), nil
	}
	return scaffold.Source{}, usagef("no clone of elect was found, and this program is no release: name a clone with --elect DIR")
}

// starterModule is a new module.
type starterModule struct {
	Name    string   `json:"name"`
	Dir     string   `json:"dir"`
	Module  string   `json:"module"`
	Clone   string   `json:"clone,omitempty"` // absolute; empty: a release is required
	Version string   `json:"version"`         // of elect
	Files   []string `json:"files"`

	Elect  string          `json:"-"` // module path of elect
	module scaffold.Module `json:"-"`
}

// newStarterModule makes the texts of all files, and writes none.
func (p *program) newStarterModule(args []string, source scaffold.Source) (*starterModule, error) {
	name, dir := args[0], args[len(args)-1]
	if want := p.wantedName(name); want != "" {
		return nil, usagef("the name is %s, want %s", strconv.Quote(name), want)
	}
	if problem := scaffold.Occupied(dir); problem != "" {
		return nil, usagef("%s %s, want an empty folder, or none", dir, problem)
	}
	path := "example.com/" + name
	m := &starterModule{
		Name: name, Dir: dir, Module: path, Clone: source.Clone, Version: source.Version, Elect: buildinfo.ModulePath,
		module: scaffold.Module{Dir: dir, Path: path, Source: source, Files: map[string][]byte{}},
	}
	m.render()
	return m, nil
}

// isPackageName reports whether a Go package and an algorithm may have the name.
func isPackageName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return name != "" && len(name) <= 32 && name[0] >= 'a' && strings.Trim(name, letters+"0123456789") == ""
}

// predeclared are the identifiers of Go that a package would hide.
var predeclared = strings.Fields(`any append bool byte cap clear close comparable complex complex128 complex64 copy delete
	error false float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println real
	recover rune string true uint uint16 uint32 uint64 uint8 uintptr init main`)

// wantedName returns what name should be, or "" if an algorithm can have that name.
func (p *program) wantedName(name string) string {
	switch {
	case !isPackageName(name):
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

// usedWords returns the words in the code of the example. As the name of a package, some of them would have two
// meanings there.
func usedWords() (words []string) {
	comment, word := regexp.MustCompile(`//.*`), regexp.MustCompile(`\w+`)
	for _, file := range exampleFiles {
		if file == scenarioFile {
			continue
		}
		words = append(words, word.FindAllString(comment.ReplaceAllString(readExample(file), ""), -1)...)
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
func (m *starterModule) render() {
	for _, file := range exampleFiles {
		m.module.Files[strings.Replace(file, "omega", m.Name, 1)] = []byte(m.rename(readExample(file)))
	}
	m.module.Files["README.md"] = []byte(m.readme())
	m.Files = m.module.Names()
}

// readme returns README.md of the module.
func (m *starterModule) readme() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\nAn election algorithm for [elect](https://%s): [%[1]s.go](./%[1]s.go).\n\n", m.Name, m.Elect)
	command := func(command, effect string) { fmt.Fprintf(&text, "    %-50s# %s\n", command, effect) }
	if m.Clone == "" {
		command("go mod tidy", "once: fetch elect "+m.Version)
		text.WriteByte('\n')
	}
	command("go test ./...", "the conformance suite, unit tests and the scenario")
	command("go run ./cmd sim --scenario scenario.txt", "the scenario, with what each node does")
	command("go run ./cmd explore --algorithm "+m.Name, "each state that a small cluster can reach")
	command("go run ./cmd demo --algorithm "+m.Name, "five processes elect; the leader is killed")
	text.WriteString("\n`docs/write-your-own.md` of elect leads from here to the benchmark.\n")
	if m.Clone != "" {
		fmt.Fprintf(&text, "\nThe module uses the clone of elect in `%s`, by a `replace` in go.mod. To use a release instead: `go mod edit\n"+
			"-dropreplace %s`, then `go get %[2]s@latest` and `go mod tidy`.\n", m.Clone, m.Elect)
	}
	return text.String()
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
