package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// tracer writes the events of a node to the output of --trace.
type tracer struct {
	output io.WriteCloser
	stream *proccluster.Stream
	offset time.Duration // of the clock of [proccluster.Now] to that of the node
}

// open opens the output, where "-" is standard output.
func (t *tracer) open(file string) error {
	t.output = os.Stdout
	if file != "-" {
		output, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		t.output = output
	}
	t.stream = proccluster.NewStream(t.output)
	return nil
}

// see is the Trace of the node, and runs on its loop.
func (t *tracer) see(e trace.Event) {
	now := time.Duration(proccluster.Now())
	if e.Kind == trace.Ready { // the first one
		t.offset = now - e.At
	}
	switch {
	case engine.IsRoutine(e):
		return
	case e.Kind == trace.Announce: // its time is that at which the application has learned of the leader
		e.At += t.offset
	default: // the time of an event of the engine is that of the input which caused it
		e.At = now
	}
	t.stream.Event(e)
}

// close writes the remaining events after the node has stopped.
func (t *tracer) close(log *slog.Logger) {
	if err := errors.Join(t.stream.Close(), t.output.Close()); err != nil {
		log.Warn("the trace is not complete", "error", err)
	}
}

// readCommands executes the lines of --stdin until the input ends.
func readCommands(ctx context.Context, in io.Reader, n *cluster.Node) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if lines.Text() == proccluster.Campaign {
			_ = n.Campaign(ctx) // its error is that the node stops, which Run returns
		}
	}
}
