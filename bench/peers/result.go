package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/bench/peers/member"
	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/fleet"
)

// Result is all that one or more runs have measured, and on what.
type Result struct {
	Runs     []Origin          `json:"runs"`
	Versions map[string]string `json:"versions"` // of each module
	Settings []Settings        `json:"settings"`
	Trials   []Trial           `json:"trials"`
}

// Origin is where and when trials were made.
type Origin struct {
	Began      time.Time       `json:"began"`
	Args       []string        `json:"args"`
	Seed       uint64          `json:"seed"`
	Machine    machine.Machine `json:"machine"`
	FileSystem string          `json:"file_system"` // of the data folders
	Clock      string          `json:"clock"`
}

// Settings are what a system was told.
type Settings struct {
	System  string        `json:"system"`
	Setting string        `json:"setting"`
	Timing  member.Timing `json:"timing"`
	Lines   []string      `json:"lines"`
}

func originNow(args []string, seed uint64, dir string) Origin {
	return Origin{
		Began: time.Now(), Args: args, Seed: seed, Machine: machine.This(), FileSystem: machine.FileSystem(dir), Clock: fleet.Clock,
	}
}

// versionsOf are those of the modules behind the systems, as this program was built;
// own is ours.
func versionsOf(names []string, own string) map[string]string {
	versions := make(map[string]string)
	info, _ := debug.ReadBuildInfo()
	for _, name := range names {
		s, _ := lookupSystem(name)
		if s.isOurs() {
			versions[modulePath] = own
		}
		for _, path := range s.library.Modules {
			versions[path] = "unknown"
			if info == nil {
				continue
			}
			if i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == path }); i >= 0 {
				versions[path] = info.Deps[i].Version
			}
		}
	}
	return versions
}

// commit names the last commit of a checkout that changed what is measured, and says if
// there are changes that no commit has.
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

// save writes r as JSON.
func (r Result) save(file string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// load reads results and puts them together. What was measured must be the same.
func load(files []string) (Result, error) {
	var all Result
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return all, err
		}
		var r Result
		if err := json.Unmarshal(text, &r); err != nil {
			return all, fmt.Errorf("%s: %w", file, err)
		}
		if err := all.add(r); err != nil {
			return all, fmt.Errorf("%s: %w", file, err)
		}
	}
	return all, nil
}

func (r *Result) add(more Result) error {
	if r.Versions == nil {
		r.Versions = make(map[string]string)
	}
	for path, version := range more.Versions {
		if known, ok := r.Versions[path]; ok && known != version {
			return fmt.Errorf("%s is %s, and %s in a file before it", path, version, known)
		}
		r.Versions[path] = version
	}
	for _, s := range more.Settings {
		i := slices.IndexFunc(r.Settings, func(o Settings) bool { return o.System == s.System && o.Setting == s.Setting })
		if i < 0 {
			r.Settings = append(r.Settings, s)
		} else if !reflect.DeepEqual(r.Settings[i], s) {
			return fmt.Errorf("%s has other settings in a file before it", s.System)
		}
	}
	r.Runs = append(r.Runs, more.Runs...)
	r.Trials = append(r.Trials, more.Trials...)
	return nil
}
