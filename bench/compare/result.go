package main

import (
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/bench/compare/member"
	"github.com/elect-go/elect/internal/bench/hostinfo"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
)

// begin returns a run without trials.
func (o *options) begin(dir, own string, settings []Settings) result.Run {
	run := result.Run{
		Began: time.Now(), Command: "go run . " + strings.Join(o.args, " "), Seed: o.seed, Machine: hostinfo.Describe(), Clock: proccluster.Clock,
		Versions: versionsOf(o.systems, own),
	}
	run.Machine.FileSystem = hostinfo.FileSystem(dir)
	for _, s := range settings {
		run.Remarks = append(run.Remarks, s.Setting+", "+s.System+": "+strings.Join(s.Lines, "; "))
	}
	return run
}

// Settings describes the settings of a system.
type Settings struct {
	System, Setting string
	Timing          member.Timing
	Lines           []string
}

// versionsOf returns the versions of the modules of the systems in this build. own is the version of
// elect.
func versionsOf(names []string, own string) map[string]string {
	versions := make(map[string]string)
	for _, name := range names {
		s, _ := lookupSystem(name)
		if s.isOurs() {
			versions[modulePath] = own
		}
		for _, path := range s.library.Modules {
			addVersion(versions, path)
		}
	}
	return versions
}

// addVersion adds the version of a module in this build.
func addVersion(versions map[string]string, path string) {
	versions[path] = "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	if i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == path }); i >= 0 {
		versions[path] = info.Deps[i].Version
	}
}

// commit returns the last commit of a checkout that changed the measured code, and whether there are
// uncommitted changes.
func commit(root string) string {
	measured := []string{"--", ".", ":!bench", ":!docs"}
	hash, err := git(root, append([]string{"log", "-1", "--abbrev=12", "--format=%h"}, measured...)...)
	if err != nil || hash == "" {
		return "unknown"
	}
	if changes, err := git(root, append([]string{"status", "--porcelain"}, measured...)...); err != nil || changes != "" {
		hash += " with changes"
	}
	return hash
}

func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
