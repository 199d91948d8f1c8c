package exercise

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/elect-go/elect/internal/scaffold"
)

// Bundle writes a zip file with the module of an exercise and all that it is compiled with, in one folder with the name
// of the exercise. Such a module needs neither a clone nor a network, also for grading. The same source of elect gives
// the same bytes.
func (e *Exercise) Bundle(ctx context.Context, source scaffold.Source, out io.Writer) (err error) {
	temp, err := os.MkdirTemp("", "elect-bundle-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	m, err := e.Module(filepath.Join(temp, e.Name), source)
	if err != nil {
		return err
	}
	program, err := e.program(source.Clone) // the vendor folder gets what the checks import
	if err != nil {
		return err
	}
	for file, text := range program {
		m.Files[file] = text
	}
	if err := m.Write(); err != nil {
		return err
	}
	if err := vendor(ctx, m.Dir); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(m.Dir, programFolder)); err != nil {
		return err
	}
	return pack(temp, out)
}

// vendor makes the vendor folder of the module in dir. Afterwards go.mod and vendor/modules.txt have only modules with
// packages in this folder, and no path of a clone.
func vendor(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "vendor")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod vendor: %w: %s", err, bytes.TrimSpace(out))
	}
	list := filepath.Join(dir, "vendor", "modules.txt")
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	modules, used := usedModules(string(text))
	if err := os.WriteFile(list, []byte(modules), 0o600); err != nil {
		return err
	}
	file := filepath.Join(dir, "go.mod")
	if text, err = os.ReadFile(file); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(withoutClone(string(text), used)), 0o600); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, "go.sum")) // the go command does not read it with a vendor folder
}

// usedModules returns the text of modules.txt without replacements and without modules that have no package, and the
// remaining modules, each as its path and version.
func usedModules(text string) (modules string, used map[string]bool) {
	var b strings.Builder
	used = map[string]bool{}
	for section := range strings.SplitSeq("\n"+text, "\n# ") {
		head, packages, _ := strings.Cut(section, "\n")
		head, _, _ = strings.Cut(head, " => ")
		for line := range strings.Lines(packages) {
			if !strings.HasPrefix(line, "## ") && strings.TrimSpace(line) != "" {
				used[head] = true
			}
		}
		if used[head] {
			fmt.Fprintf(&b, "# %s\n%s\n", head, strings.TrimSuffix(packages, "\n"))
		}
	}
	return b.String(), used
}

// withoutClone returns a go.mod with requirements of the used modules only, and without a replace.
func withoutClone(text string, used map[string]bool) string {
	var b strings.Builder
	inBlock := false
	for line := range strings.Lines(text) {
		module := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "require ")), " // indirect")
		switch {
		case strings.HasPrefix(line, "require ("):
			inBlock = true
		case strings.HasPrefix(line, ")"):
			inBlock = false
		case strings.HasPrefix(line, "replace ") || strings.HasPrefix(line, "//"):
			continue
		case inBlock && !used[module]:
			continue
		}
		b.WriteString(line)
	}
	return strings.TrimSpace(strings.ReplaceAll(b.String(), "require (\n)\n", "")) + "\n"
}

// pack writes all files below dir into a zip file, in the order of their paths and without times.
func pack(dir string, out io.Writer) error {
	archive := zip.NewWriter(out)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := archive.Create(filepath.ToSlash(name))
		if err != nil {
			return err
		}
		_, err = file.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
