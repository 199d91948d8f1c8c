package scaffold

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/elect-go/elect/internal/buildinfo"
)

// ReleaseOf returns the released version of elect in a program, or "" if the program was built in a clone.
func ReleaseOf(info *debug.BuildInfo) string {
	version := buildinfo.Of(info, info != nil).Version
	if !regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`).MatchString(version) || version == "v0.0.0" {
		return ""
	}
	return version
}

// IsClone reports whether dir is the root of a clone of elect.
func IsClone(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	moduleLine := regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(buildinfo.ModulePath) + `\r?$`)
	return err == nil && moduleLine.Match(text)
}

// FindClone returns the clone that this program was built from, or the clone around the working directory, or "".
func FindClone() string {
	info, _ := debug.ReadBuildInfo()
	_, source, _, _ := runtime.Caller(0)
	workingDir, _ := os.Getwd() // without one, the clone is found elsewhere or not at all
	return findClone(info, source, workingDir)
}

// findClone is FindClone. source is the path of this file as the compiler knew it.
func findClone(info *debug.BuildInfo, source, workingDir string) string {
	if info != nil {
		for _, d := range info.Deps { // a program of another module, such as a new one
			if d.Path == buildinfo.ModulePath && d.Replace != nil && filepath.IsAbs(d.Replace.Path) && IsClone(d.Replace.Path) {
				return d.Replace.Path
			}
		}
	}
	if filepath.IsAbs(source) { // With -trimpath it is not.
		if dir := filepath.Join(filepath.Dir(source), "..", ".."); IsClone(dir) {
			return dir
		}
	}
	for dir := workingDir; dir != ""; dir = filepath.Dir(dir) {
		if IsClone(dir) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}
