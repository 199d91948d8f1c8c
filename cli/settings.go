package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/logqueue"
)

// source holds the file and the flags that configure a node.
type source struct {
	table *confload.Table
	file  string
	flags *confload.Flags
	// ownsProcess is the field of program.
	ownsProcess bool
}

// register adds the flags of a node to those of a command.
func (s *source) register(set *pflag.FlagSet) {
	set.SortFlags = false
	s.flags = s.table.Flags(set)
}

// registerFile adds the flag that names the file.
func (s *source) registerFile(set *pflag.FlagSet) {
	set.StringVar(&s.file, "config", "", "configuration `file` (default: the one that "+confload.FileVariable+" names, if any)")
}

// load reads the file, the environment and the flags. Its error means that the file cannot be read. The settings
// report other problems when a node is made.
func (s *source) load() (*confload.Settings, error) {
	settings, err := s.table.Load(s.file, os.Environ(), s.flags)
	_, isOpen := errors.AsType[*disk.AccessError](err)
	if isOpen || errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("the configuration: %v", err)
	}
	if err != nil {
		return nil, err
	}
	return settings, nil
}

// settingsOf returns the settings of a node with these flags, and no file or environment.
func (p *program) settingsOf(args ...string) (*confload.Settings, error) {
	var set pflag.FlagSet
	flags := p.fields.Flags(&set)
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	return p.fields.Load("", nil, flags)
}

// settings are the options of an algorithm for a command that runs no node. Problems in its command line are
// collected and reported together.
type settings struct {
	table    *confload.Table
	problems diag.List
}

// build calls config.Table.Spec and notes its problems.
func (s *settings) build(name string, defaults, timing algo.Timing, options []string) algo.Spec {
	spec, err := s.table.Spec(name, defaults, timing, options)
	s.problems.AddError(err)
	return spec
}

// withSettings puts options of a file before those of flags, because the last value of an option counts.
func withSettings(settings []algo.Setting, options []string) []string {
	var all []string
	for _, o := range settings {
		all = append(all, o.Name+"="+o.Value)
	}
	return append(all, options...)
}

// logger returns a logger that writes the form "json" or "text", from a level on.
func logger(w io.Writer, form string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if form == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// logsJSON is set in the annotations of the root when the log is JSON.
const logsJSON = "logs json"

// wantsJSON reports whether the log of a node is JSON, or would be JSON: a problem in the configuration or the command
// line ends a node before its log exists.
func wantsJSON(root, cmd *cobra.Command, args []string) bool {
	if cmd.Name() != "node" && cmd.Name() != "run" {
		return false
	}
	return cmp.Or(logFlag(args), os.Getenv("ELECT_LOG")) == "json" || root.Annotations[logsJSON] != ""
}

// logFlag returns the value of --log in the arguments, or "". The flag itself has no value if parsing has stopped at a
// wrong flag before it.
func logFlag(args []string) (form string) {
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg, "--log=")
		switch {
		case arg == "--": // the command of elect run and its arguments follow
			return form
		case ok:
			form = value
		case arg == "--log" && i+1 < len(args):
			form = args[i+1]
		}
	}
	return form
}

// newQueue returns a queue in front of w, which reports lost lines in a form of the log.
func newQueue(w io.Writer, form string) *logqueue.Queue {
	return logqueue.New(w, func(dropped int) []byte {
		var line bytes.Buffer
		logger(&line, form, slog.LevelWarn).Warn("log lines dropped", "lines", dropped)
		return line.Bytes()
	})
}

// queueErrors puts a queue in front of the standard error of the program. A reader that does not read then blocks
// neither the node nor the end of the process. run closes the queue.
//
// The queue belongs to the command and not to package cluster: only the program that owns an output knows when it
// exits, and can write the queue before.
func queueErrors(cmd *cobra.Command, form string) *logqueue.Queue {
	queue := newQueue(cmd.ErrOrStderr(), form)
	root := cmd.Root()
	root.SetErr(queue)
	if form == "json" {
		root.Annotations = map[string]string{logsJSON: "true"}
	}
	return queue
}
