package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/elect-go/elect/internal/bench/result"
)

const modulePath = "github.com/elect-go/elect"

// The exit statuses.
const (
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130
)

func main() {
	runHidden()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run runs the command and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "compare:", err)
		return statusUsage
	}
	if err := o.writable(); err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return statusUsage
	}
	if o.show {
		file, err := read(o.files)
		if err != nil {
			fmt.Fprintln(stderr, "compare:", err)
			return statusFailed
		}
		write(stdout, file)
		return 0
	}
	return o.perform(ctx, stdout, stderr)
}

// perform measures, prints and saves. After an interruption it prints and saves the finished rounds.
func (o *options) perform(ctx context.Context, stdout, stderr io.Writer) int {
	run, err := o.measure(ctx, stderr)
	if len(run.Trials) > 0 {
		write(stdout, result.File{Results: run.Results(), Notes: run.Notes()})
		err = errors.Join(err, o.save(run))
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "compare: interrupted")
		return statusInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "compare:", err)
		return statusFailed
	case len(run.Skipped) > 0: // a table without failed rounds must not look like success
		fmt.Fprintf(stderr, "compare: %d of %d rounds failed\n", len(run.Skipped), len(run.Skipped)+len(run.Trials))
		return statusFailed
	}
	return 0
}
