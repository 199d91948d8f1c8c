package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/elect-go/elect/internal/bench/hostinfo"
)

// prepare builds the measured command and creates a folder on a disk. root is the folder of the
// project.
func (o *options) prepare(ctx context.Context) (r *runner, root string, err error) {
	r = &runner{elect: o.elect, random: rand.New(rand.NewPCG(o.seed, 0)), rest: o.steady}
	if r.self, err = os.Executable(); err != nil {
		return nil, "", err
	}
	if r.dir, err = dataDir(o.data); err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(r.dir)
		}
	}()
	out, err := goCommand(ctx, ".", "list", "-m", "-f", "{{.Dir}}", modulePath)
	if root = strings.TrimSpace(out); err != nil || r.elect != "" {
		return r, root, err
	}
	r.elect = filepath.Join(r.dir, "elect")
	// Build in the module of the project, with its dependencies.
	_, err = goCommand(ctx, root, "build", "-o", r.elect, "./cmd/elect")
	return r, root, err
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, said.String())
	}
	return string(out), nil
}

// dataDir creates the parent of all data directories.
func dataDir(wanted string) (string, error) {
	if wanted == "" {
		var err error
		if wanted, err = hostinfo.DiskTempDir(); err != nil {
			return "", fmt.Errorf("%w: name one with -data", err)
		}
	}
	dir, err := os.MkdirTemp(wanted, "elect-compare-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}
