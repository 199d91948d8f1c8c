package algotest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	module = "github.com/elect-go/elect"
	folder = "testdata/mutants"
	// home is where the mutants are, as packages that an overlay shows to the go command.
	home = "algo/algotest/" + folder
)

// overlay is what the go command is to see in place of what is there.
type overlay struct {
	t       *testing.T
	root    string            // of the module
	temp    string            // for files
	Replace map[string]string // what is seen where, by the file that it is
	names   []string
}

func newOverlay(t *testing.T) *overlay {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return &overlay{t: t, root: root, temp: t.TempDir(), Replace: map[string]string{}}
}

// add shows a copy of a package, patched or not. It reads all of it: so the go command
// knows, when it is to reuse the result of this test, what the test depends on.
func (o *overlay) add(name, pkg string, patches []filePatch) {
	o.t.Helper()
	files, err := os.ReadDir(filepath.Join(o.root, pkg))
	if err != nil {
		o.t.Fatal(err)
	}
	o.names = append(o.names, name)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		from := filepath.Join(o.root, pkg, file.Name())
		source, err := os.ReadFile(from)
		if err != nil {
			o.t.Fatal(err)
		}
		for i := range patches {
			if patches[i].path != pkg+"/"+file.Name() {
				continue
			}
			patched, err := patches[i].apply(string(source))
			if err != nil {
				o.t.Fatalf("the source has changed: %s.diff does not fit it any more: %v", name, err)
			}
			from = o.write(name+"-"+file.Name(), patched)
		}
		o.Replace[filepath.Join(o.root, home, name, file.Name())] = from
	}
}

func (o *overlay) write(name, text string) string {
	o.t.Helper()
	file := filepath.Join(o.temp, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		o.t.Fatal(err)
	}
	return file
}

// harness is a test that runs the suite on all that was added.
func (o *overlay) harness() string {
	var imports, table strings.Builder
	for i, name := range o.names {
		fmt.Fprintf(&imports, "\tm%d %q\n", i, module+"/"+home+"/"+name)
		fmt.Fprintf(&table, "\t{%q, m%d.Factory},\n", name, i)
	}
	return `package mutants

import (
	"testing"

	"` + module + `/algo"
	"` + module + `/algo/algotest"
` + imports.String() + `)

var mutants = []struct {
	name    string
	factory algo.Factory
}{
` + table.String() + `}

func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			spec, err := m.factory(algotest.Timing(), func(any) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			algotest.Test(t, spec)
		})
	}
}

func FuzzOriginal(f *testing.F) { fuzz(f, "bully") }

func FuzzMutant(f *testing.F) { fuzz(f, "forgotten-epoch") }

func fuzz(f *testing.F, name string) {
	for _, m := range mutants {
		if m.name == name {
			spec, err := m.factory(algotest.Timing(), func(any) error { return nil })
			if err != nil {
				f.Fatal(err)
			}
			algotest.Fuzz(f, spec)
			return
		}
	}
	f.Fatalf("there is no %s", name)
}
`
}

// outcome is what became of the subtests of the harness, by their names; what belongs to
// none is under no name.
type outcome struct {
	actions map[string]string // pass, fail or skip
	output  map[string]string
}

// run builds the harness and runs it.
func (o *overlay) run(flags ...string) outcome {
	o.t.Helper()
	o.Replace[filepath.Join(o.root, home, "mutants_test.go")] = o.write("mutants_test.go", o.harness())
	text, err := json.Marshal(o)
	if err != nil {
		o.t.Fatal(err)
	}
	args := []string{"test", "-overlay=" + o.write("overlay.json", string(text)), "-json", "-short", "-vet=off", "-timeout=300s", "./" + home}
	cmd := exec.Command("go", append(args, flags...)...)
	cmd.Dir = o.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output() // there is an error: mutants fail
	ran := outcome{map[string]string{}, map[string]string{}}
	for line := range bytes.Lines(stdout) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			o.t.Fatalf("go test -json says %q\n%s", line, stderr.String())
		}
		test := strings.TrimPrefix(event.Test, "TestMutants/")
		switch event.Action {
		case "pass", "fail", "skip":
			ran.actions[test] = event.Action
		case "output", "build-output":
			ran.output[test] += event.Output
		}
	}
	if ran.actions["TestMutants"] == "" {
		o.t.Fatalf("the mutants did not run: %v\n%s%s", err, stderr.String(), ran.output[""])
	}
	return ran
}
