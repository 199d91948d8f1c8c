package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/elect-go/elect/bench"
)

// benchFolder is where a report is written; nowhere if its path is empty.
type benchFolder struct {
	path string
	made []string // the folders that were not there before, the deepest first
}

// The files of a report.
const (
	reportFile = "report.html"
	jsonFile   = "result.json"
	csvFile    = "result.csv"
)

func reportPath(folder string) string { return filepath.Join(folder, reportFile) }

// newBenchFolder makes the folder, before anything is measured for it. One that holds a
// report is refused: it may be the one to compare with.
func newBenchFolder(path string) (*benchFolder, error) {
	f := &benchFolder{path: path}
	if path == "" {
		return f, nil
	}
	for _, name := range []string{reportFile, jsonFile, csvFile} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return nil, usagef("--out: %s is there already, want another folder", filepath.Join(path, name))
		}
	}
	for missing := filepath.Clean(path); ; missing = filepath.Dir(missing) {
		if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		f.made = append(f.made, missing)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		f.forget()
		return nil, usagef("--out: %v", err)
	}
	return f, nil
}

// forget removes the folders that were made, if nothing is in them.
func (f *benchFolder) forget() {
	for _, made := range f.made {
		_ = os.Remove(made) // one that holds something is somebody's
	}
}

// write writes all files.
func (f *benchFolder) write(r *bench.Report) error {
	if f.path == "" {
		return nil
	}
	return errors.Join(
		f.file(reportFile, r.WriteHTML),
		f.file(jsonFile, r.WriteJSON),
		f.file(csvFile, r.WriteCSV),
	)
}

func (f *benchFolder) file(name string, write func(io.Writer) error) error {
	file, err := os.Create(filepath.Join(f.path, name))
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return errors.Join(write(file), file.Close())
}
