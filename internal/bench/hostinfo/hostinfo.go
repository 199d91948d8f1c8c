// Package hostinfo describes the machine and the disk of a measurement.
//
//	fmt.Println(hostinfo.Describe()) // linux/amd64, 2 cores (…), kernel 6.1.0, go1.26, load average 0.10 0.08 0.05
package hostinfo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/elect-go/elect/internal/untrusted"
)

// Machine describes the machine on which a measurement was made.
type Machine struct {
	System string `json:"system"` // as linux/amd64
	Cores  int    `json:"cores"`
	Model  string `json:"model"` // of the processor
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Load   string `json:"load"` // load averages of 1, 5 and 15 minutes before the measurement
	// FileSystem is the type of the file system on which nodes save; empty if no node saved.
	FileSystem string `json:"file_system,omitempty"`
}

func (m Machine) String() string {
	text := fmt.Sprintf("%s, %d cores (%s), kernel %s, %s, load average %s", m.System, m.Cores, m.Model, m.Kernel, m.Go, m.Load)
	if m.FileSystem != "" {
		text += ", data on " + m.FileSystem
	}
	return untrusted.Printable(text)
}

// Describe describes this machine now. A property that it cannot determine is "unknown".
func Describe() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(),
		Model: "unknown", Kernel: "unknown", Load: "unknown"}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		if model, ok := Field(f, "model name"); ok {
			m.Model = model
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	m.Load = LoadAverage()
	return m
}

// LoadAverage returns the load averages of the last 1, 5 and 15 minutes.
func LoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(text)); err == nil && len(words) >= 3 {
		return strings.Join(words[:3], " ")
	}
	return "unknown"
}

// Field finds the first line "name: value" of a file of /proc.
func Field(r io.Reader, name string) (value string, ok bool) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		key, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// FileSystem returns the type of the file system of dir, such as "ext4", or "unknown" if the system
// does not report it.
func FileSystem(dir string) string {
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	mounts, openErr := os.Open("/proc/self/mountinfo")
	if openErr != nil {
		return "unknown"
	}
	defer mounts.Close()
	if err != nil {
		return "unknown"
	}
	return fileSystem(mounts, path)
}

// fileSystem reads mountinfo, see proc(5). The mount with the longest prefix of path counts; of two
// mounts at one place the later counts.
func fileSystem(mounts io.Reader, path string) string {
	kind, longest := "unknown", -1
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		place, what := strings.Fields(before), strings.Fields(after)
		if !ok || len(place) < 5 || len(what) < 1 {
			continue
		}
		point := unescape.Replace(place[4])
		above := point == "/" || path == point || strings.HasPrefix(path, point+"/")
		if above && len(point) >= longest {
			kind, longest = what[0], len(point)
		}
	}
	return kind
}

// DiskTempDir returns a parent folder for data: the first of TMPDIR, the user's cache folder and
// the current folder that is not in memory. In memory a synced save would cost nothing.
func DiskTempDir() (dir string, err error) {
	candidates := []string{os.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil && os.MkdirAll(cache, 0o700) == nil {
		candidates = append(candidates, cache)
	}
	for _, dir := range append(candidates, ".") {
		if !InMemory(FileSystem(dir)) {
			return filepath.Abs(dir)
		}
	}
	return "", ErrInMemory
}

// ErrInMemory reports that no folder is on a disk.
var ErrInMemory = errors.New("hostinfo: no folder on a disk")

// InMemory reports whether a file system of that type loses its data on a power failure, so that
// a synced save costs nothing.
func InMemory(fileSystem string) bool { return fileSystem == "tmpfs" || fileSystem == "ramfs" }
