package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/proccluster"
)

const (
	workSubcommand = "demo-work"
	// workUnit is the time that a unit of work takes.
	workUnit = 2 * time.Millisecond
	// heldUp is longer than a busy machine holds up a process. A worker that finishes no unit meanwhile does not work.
	heldUp = 100 * time.Millisecond
	// forgotten is longer than any pause. A worker that finishes no unit meanwhile has ended.
	forgotten = time.Minute
)

// shift is the work of one process: the command of one leadership.
type shift struct {
	node     string
	token    uint64
	pid      int
	watchdog int
	periods  []period // in order, not empty
}

// period is a time for which a process worked, in the clock of [proccluster.Now].
type period struct{ begin, end int64 }

func (s *shift) begin() int64 { return s.periods[0].begin }
func (s *shift) end() int64   { return s.periods[len(s.periods)-1].end }

// newWork is the command that elect demo --chaos lets its members run.
func newWork() *cobra.Command {
	return &cobra.Command{
		Use: workSubcommand, Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			useOneThread()
			return work(args[0])
		},
	}
}

// work writes into a folder when this process works, until it is killed. Nothing but the file of this process tells
// that it works: neither elect nor its watchdog writes there.
func work(folder string) error {
	node, token := os.Getenv(confload.RunPrefix+"NODE"), os.Getenv(confload.RunPrefix+"TOKEN")
	if node == "" || token == "" {
		return errors.New(workSubcommand + " is a part of elect demo --chaos: elect run starts it")
	}
	name := fmt.Sprintf("%s.%s.%d.%d", node, token, os.Getpid(), os.Getppid())
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	now := proccluster.Now()
	return recordWork(file.WriteAt, period{now, now}, func() int64 {
		time.Sleep(workUnit)
		return proccluster.Now()
	})
}

// recordWork writes periods of work, one line for each. next does a unit of work and returns the time. A write replaces
// the last line, so a file stays small however long its process works.
func recordWork(writeAt func([]byte, int64) (int, error), p period, next func() int64) error {
	var offset int64
	for {
		line := fmt.Appendf(nil, "%020d %020d\n", p.begin, p.end)
		if _, err := writeAt(line, offset); err != nil {
			return err
		}
		now := next()
		if now-p.end > int64(heldUp) {
			offset += int64(len(line))
			p.begin = now - int64(workUnit)
		}
		p.end = now
	}
}

// shiftReader reads the shifts in a folder. It reads the file of a process that has ended only once.
type shiftReader struct {
	folder string
	ended  map[string]shift
}

// read returns all shifts, in the order in which they began.
func (r *shiftReader) read() ([]shift, error) {
	files, err := os.ReadDir(r.folder)
	if err != nil {
		return nil, err
	}
	if r.ended == nil {
		r.ended = make(map[string]shift)
	}
	var all []shift
	for _, f := range files {
		s, known := r.ended[f.Name()]
		if !known {
			text, err := os.ReadFile(filepath.Join(r.folder, f.Name()))
			if err != nil {
				return nil, err
			}
			var complete bool
			if s, complete = parseShift(f.Name(), text); !complete {
				continue // its process writes the first line right now
			}
			if proccluster.Now()-s.end() > int64(forgotten) {
				r.ended[f.Name()] = s
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b shift) int {
		return cmp.Or(cmp.Compare(a.begin(), b.begin()), cmp.Compare(a.token, b.token), cmp.Compare(a.pid, b.pid))
	})
	return all, nil
}

// parseShift reads a file of [work]. It reports false if the file has no complete line.
func parseShift(name string, text []byte) (shift, bool) {
	var s shift
	words := strings.Split(name, ".")
	if len(words) != 4 {
		return s, false
	}
	var errs [3]error
	s.node = words[0]
	s.token, errs[0] = strconv.ParseUint(words[1], 10, 64)
	s.pid, errs[1] = strconv.Atoi(words[2])
	s.watchdog, errs[2] = strconv.Atoi(words[3])
	if errors.Join(errs[:]...) != nil {
		return s, false
	}
	for line := range bytes.Lines(text) {
		var p period
		if n, _ := fmt.Sscanf(string(line), "%d %d\n", &p.begin, &p.end); n == 2 && bytes.HasSuffix(line, []byte("\n")) {
			s.periods = append(s.periods, p)
		}
	}
	return s, len(s.periods) > 0
}

// workerAt returns the shift that works at a time, the last one if there are several.
func workerAt(shifts []shift, now int64) (shift, bool) {
	for _, s := range slices.Backward(shifts) {
		if now-s.end() <= int64(heldUp) {
			return s, true
		}
	}
	return shift{}, false
}
