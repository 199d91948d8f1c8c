package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/wire"
)

func (p *program) newDebug() *cobra.Command {
	o := debugCommand{statusCommand: statusCommand{access: access{table: p.fields}}}
	cmd := &cobra.Command{
		Use:   "debug [ADDR…]",
		Short: "Collect what a bug report needs into one file",
		Long: `Ask the member at ADDR, and the members that it names, for their state, and write all of it
into one tar file. Without ADDR, the first member is that of the configuration on this machine
(--config, or ELECT_CONFIG). --all=false asks only the given addresses.

The file has a report.txt: which members answered, why others did not, and in what they differ.
A folder for each member has

  status.json    the output of 'elect status --json', with the counters
  config.json    the program, its system and uptime (about), the settings in effect (settings), and
                 the number of events since the start of the node (events_recorded)
  events.jsonl   the last 1000 events, an object a line as of 'elect node --trace': elections,
                 suspicions, saves and announcements. at is in nanoseconds since 1970, by the clock
                 of the member, so that the events of several members can be sorted

It contains no secret and no key, only the paths of their files. It does contain names, addresses,
paths and metadata: read it before you publish it. Only its owner may read the file. An existing
file is not replaced. A name that ends in .gz or .tgz makes a compressed file, and - is standard
output, without compression.

The exit status is 1, and nothing is written, if no member answered.

With --json, one object: file, members (a list of objects: name, addr, folder, events (the number of
events in the file)), errors (a list of objects: addr, reason) and differ (a list of sentences). If
no member answered, file is empty.

` + accessText,
		Example: `  elect debug 10.0.0.1:7400
  elect debug --config /etc/elect.yaml --output report.tgz
  elect debug 10.0.0.1:7400 --output - | tar tv`,
		Args: o.parse,
		RunE: o.run,
	}
	cmd.Flags().BoolVar(&o.all, "all", true, "ask also the members that the first answer names")
	cmd.Flags().StringVar(&o.output, "output", "", "write to this `file`; - is standard output (default: elect-debug-TIME.tar.gz in this folder)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Second, "how long to wait for the states, and then for the events")
	o.access.register(cmd.Flags())
	return cmd
}

// debugCommand collects the state of several members.
type debugCommand struct {
	statusCommand
	output string
}

func (o *debugCommand) parse(cmd *cobra.Command, args []string) error {
	if o.output == "-" && o.json {
		return usagef("--output - and --json both write to standard output, want one of them")
	}
	if o.output != "" && o.output != "-" {
		if err := refuseExisting(o.output); err != nil {
			return err
		}
	}
	return o.statusCommand.parse(cmd, args)
}

// refuseExisting returns a usage error if the file exists, or its folder does not.
func refuseExisting(file string) error {
	if _, err := os.Stat(filepath.Dir(file)); err != nil {
		return usagef("--output is %q, want a file in a folder that exists (%v)", file, err)
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return usagef("--output is %q, want a file that does not exist (%v)", file, cmp.Or(err, fs.ErrExist))
	}
	return nil
}

// debugAnswer is what one address has answered.
type debugAnswer struct {
	statusAnswer
	debug  client.Debug
	failed string // why there is no debug; empty if there is one
	folder string
	at     time.Time // when the answer came
}

// isEmpty reports whether the address has answered nothing.
func (a *debugAnswer) isEmpty() bool { return a.Status == nil && a.failed != "" }

// name is the name of the node, or its address.
func (a *debugAnswer) name() string {
	if a.Status != nil {
		return nameOf(a.Status)
	}
	return cmp.Or(a.debug.About["name"], a.Addr)
}

func (o *debugCommand) run(cmd *cobra.Command, _ []string) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	c, err := o.client()
	if err != nil {
		return err
	}
	r := debugReport{made: time.Now().UTC()}
	r.answers = o.collect(ctx, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.nameFolders()
	object := r.object()
	if len(object.Members) == 0 {
		if o.json {
			if err := json.NewEncoder(cmd.OutOrStdout()).Encode(object); err != nil {
				return err
			}
		}
		return fmt.Errorf("no member has answered: %s", r.failures("; "))
	}
	object.File = cmp.Or(o.output, "elect-debug-"+r.timeName()+".tar.gz")
	if err := r.save(object.File, cmd.OutOrStdout()); err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(object)
	}
	out := cmd.OutOrStdout()
	if o.output == "-" {
		out = cmd.ErrOrStderr()
	}
	fmt.Fprintf(out, "%s: %d of %d members\n", object.File, len(object.Members), len(r.answers))
	if failures := r.failures("\n  "); failures != "" {
		fmt.Fprintf(out, "  %s\n", failures)
	}
	_, err = fmt.Fprintln(out, "It has names, addresses, paths and metadata, but no secret. Read it before you publish it.")
	return err
}

// collect asks the members for their states, and then each address for its debug report, also one without a state: a
// node with a loop that hangs has only the latter.
func (o *debugCommand) collect(ctx context.Context, c client.Client) []*debugAnswer {
	limit := func() (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("no answer within %v", o.timeout))
	}
	queryCtx, cancel := limit()
	states := o.queryMembers(queryCtx, c)
	cancel()
	queryCtx, cancel = limit()
	defer cancel()
	answers := make([]*debugAnswer, len(states))
	slots := make(chan struct{}, maxQueries)
	var queries sync.WaitGroup
	for i, s := range states {
		a := &debugAnswer{statusAnswer: s}
		answers[i] = a
		slots <- struct{}{}
		queries.Go(func() {
			defer func() { <-slots }()
			var err error
			if a.debug, err = c.Debug(queryCtx, a.Addr); err != nil {
				a.failed = strings.TrimPrefix(shortError(a.Addr, err), a.Addr+": ")
			}
			a.at = time.Now()
		})
	}
	queries.Wait()
	return answers
}

// save writes the report to a new file that only its owner may read, or to out if the name is "-".
func (r *debugReport) save(file string, out io.Writer) error {
	if file == "-" {
		return r.write(out, false)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	err = r.write(f, strings.HasSuffix(file, ".gz") || strings.HasSuffix(file, ".tgz"))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("--output: %w", errors.Join(err, os.Remove(file)))
	}
	return nil
}

// debugObject is what --json prints.
type debugObject struct {
	File    string        `json:"file"`
	Members []debugMember `json:"members"`
	Errors  []debugError  `json:"errors"`
	Differ  []string      `json:"differ"`
}

type debugMember struct {
	Name   string `json:"name"`
	Addr   string `json:"addr"`
	Folder string `json:"folder"`
	Events int    `json:"events"`
}

type debugError struct {
	Addr   string `json:"addr"`
	Reason string `json:"reason"`
}

func (r *debugReport) object() debugObject {
	o := debugObject{Members: []debugMember{}, Errors: r.errors(), Differ: r.differences()}
	for _, a := range r.answers {
		if !a.isEmpty() {
			o.Members = append(o.Members, debugMember{a.name(), a.Addr, a.folder, len(a.debug.Events)})
		}
	}
	return o
}

// errors returns what is missing: all of a member, or a part.
func (r *debugReport) errors() []debugError {
	all := []debugError{}
	for _, a := range r.answers {
		reason := strings.TrimPrefix(a.Reason, a.Addr+": ")
		switch {
		case a.isEmpty() && reason == a.failed:
		case a.isEmpty():
			reason += "; events: " + a.failed
		case a.Status == nil:
			reason = "no status: " + reason
		case a.failed != "":
			reason = "no events: " + a.failed
		default:
			continue
		}
		all = append(all, debugError{a.Addr, reason})
	}
	return all
}

func (r *debugReport) failures(separator string) string {
	var lines []string
	for _, e := range r.errors() {
		lines = append(lines, e.Addr+": "+e.Reason)
	}
	return strings.Join(lines, separator)
}

// folderName returns a name for a folder. A member chooses its name, which must not lead out of the archive.
func folderName(a *debugAnswer) string {
	for _, name := range []string{a.name(), strings.ReplaceAll(a.Addr, ":", "_")} {
		if wire.IsName(name) && strings.Trim(name, ".") != "" {
			return name
		}
	}
	return "member"
}
