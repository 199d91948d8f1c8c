package exercise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/exercise/judge"
	"github.com/elect-go/elect/internal/scaffold"
)

// Limits outside of the process of a check. Package judge has those of processor time, memory and waiting, which do not
// depend on the speed of the machine.
const (
	maxCompileTime = 5 * time.Minute
	maxTime        = 5 * time.Minute // of one check, if its own limits fail; long, because the machine may be busy
	maxOutput      = 1 << 20         // bytes that a check prints
	shownOutput    = 1 << 10         // bytes of it that a grade contains
	shownErrors    = 20              // lines of the compiler
)

// build is a submission that is compiled and run.
type build struct {
	exercise *Exercise
	dir      string // absolute
	temp     string
	flags    []string // of the go command
}

func (g Grader) newBuild(e *Exercise, dir string) (*build, error) {
	b := &build{exercise: e}
	var err error
	if b.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if b.dir, err = filepath.EvalSymlinks(b.dir); err != nil { // the go command would not find the overlay otherwise
		return nil, err
	}
	if b.temp, err = os.MkdirTemp("", "elect-grade-*"); err != nil {
		return nil, err
	}
	if err := b.prepare(g, dir); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// prepare chooses the source of elect, and adds the program to the module.
func (b *build) prepare(g Grader, dir string) (err error) {
	elect := g.Clone
	if vendored := filepath.Join(b.dir, "vendor", "github.com", "elect-go", "elect"); isFolder(vendored) && !g.Explicit {
		elect, b.flags = vendored, []string{"-mod=vendor"}
	} else if g.Clone == "" {
		return &SubmissionError{dir, "has no vendor folder, and no clone of elect was found: name one with --elect DIR"}
	} else if b.flags, err = b.useClone(g.Clone); err != nil {
		return err
	}
	program, err := b.exercise.program(elect)
	if err != nil {
		return err
	}
	return b.overlay(program)
}

func (b *build) close() { _ = os.RemoveAll(b.temp) }

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// useClone writes a go.mod that uses the clone, whatever the go.mod of the submission points to, and returns the flags
// for it.
func (b *build) useClone(clone string) ([]string, error) {
	source, err := scaffold.FromClone(clone)
	if err != nil {
		return nil, err
	}
	m := scaffold.Module{Path: b.exercise.Path(), Source: source}
	file := filepath.Join(b.temp, "go.mod")
	err = errors.Join(os.WriteFile(file, []byte(m.GoMod()), 0o600), os.WriteFile(filepath.Join(b.temp, "go.sum"), m.GoSum(), 0o600))
	return []string{"-mod=mod", "-modfile=" + file}, err
}

// overlay adds files to the module for the compiler. The folder of the submission stays as it is.
func (b *build) overlay(program map[string][]byte) error {
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, text := range program {
		path := filepath.Join(b.temp, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		overlay.Replace[filepath.Join(b.dir, filepath.FromSlash(file))] = path
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	file := filepath.Join(b.temp, "overlay.json")
	b.flags = append(b.flags, "-overlay="+file)
	return os.WriteFile(file, text, 0o600)
}

// program returns the path of the compiled program.
func (b *build) program() string {
	name := "checks"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(b.temp, name)
}

// compile compiles the program. It returns the errors of the compiler, or "".
func (b *build) compile(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCompileTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-trimpath", "-o", b.program()}, b.flags...), "./"+programFolder)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case context.Cause(ctx) != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "", context.Cause(ctx)
	case context.Cause(ctx) != nil:
		return fmt.Sprintf("the compiler took longer than %v\n", maxCompileTime), nil
	case failed:
		return firstLines(string(out), shownErrors), nil
	case err != nil:
		return "", fmt.Errorf("the Go toolchain is needed for grading: %w", err)
	}
	return "", nil
}

// firstLines returns the first lines of a text, and a sign that there are more.
func firstLines(text string, count int) string {
	lines := slices.Collect(strings.Lines(text))
	if len(lines) > count {
		lines = append(lines[:count], "…\n")
	}
	return strings.Join(lines, "")
}

// run runs one check in a process of its own, and fills in its result.
func (b *build) run(ctx context.Context, c *CheckGrade) error {
	within, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	result := filepath.Join(b.temp, c.Name+".json")
	printed := &cappedBuffer{full: cancel}
	cmd := exec.CommandContext(within, b.program(), c.Name, result)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.temp, printed, printed
	cmd.Env = environment()
	cmd.WaitDelay = time.Second // a child of the submission may keep the output open
	startErr := cmd.Start()
	if startErr != nil {
		return startErr
	}
	limit(cmd.Process.Pid)
	err := cmd.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	output := printed.start()
	c.Output = withoutTrace(output)
	var r judge.Result
	text, readErr := os.ReadFile(result)
	switch known := readErr == nil && json.Unmarshal(text, &r) == nil; {
	case printed.isFull():
		c.Status, c.Reason = Stopped, fmt.Sprintf("The code printed more than %d MiB.", maxOutput>>20)
	case within.Err() != nil:
		c.Status, c.Reason = Stopped, fmt.Sprintf("The code did not end within %v.", maxTime)
	case !known:
		c.Status, c.Reason = Stopped, fmt.Sprintf("The process ended before the check was done: %s.", describeEnd(err, output))
	case r.Stopped != "":
		c.Status, c.Reason = Stopped, r.Stopped
	case r.Holds:
		c.Status, c.Points, c.Output = Passed, c.Max, ""
	default:
		c.Status, c.Reason, c.Diagram = Failed, r.Reason, r.Diagram
	}
	return nil
}

// environment returns the environment of a check: only what a Go program may need to start.
func environment() (env []string) {
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "GOMAXPROCS=2", "GOTRACEBACK=single")
}

// crashLines match the beginning of what the runtime of Go prints about a crash.
var crashLines = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: goroutine stack exceeds |goroutine \d+ )`)

// withoutTrace returns an output up to the report of a crash, which has addresses that differ from run to run.
func withoutTrace(output string) string {
	if at := crashLines.FindStringIndex(output); at != nil {
		return output[:at[0]]
	}
	return output
}

// describeEnd says how a process ended. The runtime of Go prints the reason of a fatal error first.
func describeEnd(err error, output string) string {
	if at := crashLines.FindStringIndex(output); at != nil {
		line, _, _ := strings.Cut(output[at[0]:], "\n")
		return line
	}
	if err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// cappedBuffer keeps the beginning of an output, and calls full when there is too much of it.
type cappedBuffer struct {
	full func()

	mu    sync.Mutex
	kept  bytes.Buffer
	total int
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept.Write(p[:min(len(p), max(0, shownOutput-b.kept.Len()))])
	if b.total += len(p); b.total > maxOutput {
		b.full()
	}
	return len(p), nil
}

func (b *cappedBuffer) isFull() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total > maxOutput
}

func (b *cappedBuffer) start() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.ToValidUTF8(b.kept.String(), "")
}
