package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// tracer writes the events of a node to the output of --trace.
type tracer struct {
	node      *cluster.Node
	output    io.WriteCloser
	stream    *proccluster.Stream
	clock     proccluster.ClockConverter
	following sync.WaitGroup
}

// open opens the output, where "-" is standard output.
func (t *tracer) open(file string) error {
	t.output, t.clock = os.Stdout, proccluster.NewClockConverter()
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
	if e.Kind == trace.Ready {
		t.following.Go(t.follow) // which ends with the loop
	}
	if e.Kind != trace.Announce && !engine.IsRoutine(e) { // follow writes announcements
		e.At = time.Duration(proccluster.Now())
		t.stream.Event(e)
	}
}

// follow writes each leader that the node follows, at the time at which an application learns of it: the algorithm
// announces a leader before it is saved.
func (t *tracer) follow() {
	for s := range t.node.Watch(context.Background()) {
		if s.At.IsZero() {
			continue // before the first election
		}
		t.stream.Event(trace.Event{
			At: time.Duration(t.clock.Convert(s.At)), Node: t.node.ID(), Kind: trace.Announce, Leader: algo.Leader{Epoch: s.Leader.Epoch, ID: s.Leader.ID},
		})
	}
}

// close writes the remaining events after the node has stopped.
func (t *tracer) close(log *slog.Logger) {
	t.following.Wait()
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
