package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// Root returns the folder of the module that the working directory lies in.
func Root() (string, error) {
	out, err := run(".", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// Listed is a [Package] with its files, each with its folder.
type Listed struct {
	Package
	Files []string // for every system, tests aside; nil outside of the module
}

// List returns all packages of the module in root, and all that they reach.
func List(root string) ([]Listed, error) {
	out, err := run(root, "list", "-deps", "-json=ImportPath,Dir,Imports,Deps,Standard,Module,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var packages []Listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Package
			Dir                               string
			Module                            struct{ Path string }
			GoFiles, CgoFiles, IgnoredGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("archtest: what go list says: %w", err)
		}
		p.Package.Module = p.Module.Path
		listed := Listed{Package: p.Package}
		if p.Module.Path == Module {
			for _, names := range [][]string{p.GoFiles, p.CgoFiles, p.IgnoredGoFiles} {
				for _, name := range names {
					if !strings.HasSuffix(name, "_test.go") {
						listed.Files = append(listed.Files, filepath.Join(p.Dir, name))
					}
				}
			}
		}
		packages = append(packages, listed)
	}
}

func run(dir string, args ...string) ([]byte, error) { return command(dir, "go", args...) }

func command(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("archtest: %s %s: %w\n%s", name, args[0], err, exit.Stderr)
	}
	return out, err
}
