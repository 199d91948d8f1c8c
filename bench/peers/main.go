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

	"github.com/elect-go/elect/bench/peers/member"
)

const (
	modulePath = "github.com/elect-go/elect"
	// memberCommand is the hidden subcommand by which this program is one of the
	// processes that it measures.
	memberCommand = "member"
)

// The exit statuses.
const (
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == memberCommand {
		runMember()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// runMember does not return.
func runMember() {
	if err := member.Run(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(statusFailed)
	}
	os.Exit(0)
}

// run is the whole command, and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "peers:", err)
		return statusUsage
	}
	if err := o.writable(); err != nil {
		fmt.Fprintln(stderr, "peers:", err)
		return statusUsage
	}
	result, err := o.result(ctx, stderr)
	if len(result.Trials) > 0 { // what was measured before an interruption counts
		result.write(stdout)
		if o.json != "" {
			err = errors.Join(err, result.save(o.json))
		}
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "peers: interrupted")
		return statusInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "peers:", err)
		return statusFailed
	}
	return failures(result, stderr)
}

// failures says which rounds failed: a table without them must not look like success.
func failures(r Result, stderr io.Writer) int {
	failed := 0
	for _, t := range r.Trials {
		if t.Error != "" {
			failed++
		}
	}
	if failed == 0 {
		return 0
	}
	fmt.Fprintf(stderr, "peers: %d of %d rounds failed\n", failed, len(r.Trials))
	return statusFailed
}
