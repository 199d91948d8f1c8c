package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// minWidth is the fewest columns in which a diagram can be read.
const minWidth = 40

// observer writes the trace of a simulation to a file, or keeps it for a diagram.
type observer struct {
	file   *os.File
	buffer *bufio.Writer
	lines  *trace.JSON
	draw   bool
	events []trace.Event
}

// observe prepares the observer and opens the file of --trace, if set.
func (s *simulation) observe() error {
	s.watch.draw = s.diagram || s.pictures.some()
	if s.trace == "" {
		return nil
	}
	file, err := os.Create(s.trace)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	s.watch.file, s.watch.buffer = file, bufio.NewWriter(file)
	s.watch.lines = trace.NewJSON(s.watch.buffer)
	s.watch.lines.Names = nodeName
	return nil
}

// event returns the consumer of the trace, or nil if the trace is not needed: it slows a simulation down.
func (o *observer) event() func(trace.Event) {
	if o.lines == nil && !o.draw {
		return nil
	}
	return func(e trace.Event) {
		if o.lines != nil {
			o.lines.Event(e)
		}
		if o.draw {
			o.events = append(o.events, e)
		}
	}
}

// close completes the file.
func (o *observer) close() error {
	if o.file == nil {
		return nil
	}
	if err := errors.Join(o.lines.Err(), o.buffer.Flush(), o.file.Close()); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return nil
}

// nodeName returns the name of the node with that ID in a simulation or a search.
func nodeName(id algo.NodeID) string {
	if n := sim.Number(id); n > 0 {
		return "n" + strconv.Itoa(n)
	}
	return ""
}

// drawing draws the kept events after from, in a unit of time.
func (s *simulation) drawing(messages []algo.Message, from, unit time.Duration, unitName string) error {
	d := trace.Diagram{
		Names: nodeName, Messages: messages, Unit: unit, UnitName: unitName, From: from, Width: widthOf(s.out, s.width), ASCII: s.ascii,
	}
	for _, e := range s.watch.events {
		d.Event(e)
	}
	if err := s.pictures.write(&d, s.title()); err != nil {
		return err
	}
	if !s.diagram {
		return nil
	}
	_, err := io.WriteString(s.out, d.String())
	return err
}

// pictures are the files that show a run, by format; empty: none.
type pictures struct{ svg, mermaid, shiviz string }

// some reports whether there is a file.
func (p pictures) some() bool { return p != pictures{} }

// write writes the files.
func (p pictures) write(d *trace.Diagram, title string) error {
	for _, picture := range []struct {
		flag, file string
		draw       func() string
	}{
		{"svg", p.svg, func() string { return d.SVG(title) }}, {"mermaid", p.mermaid, d.Mermaid}, {"shiviz", p.shiviz, d.ShiViz},
	} {
		if picture.file == "" {
			continue
		}
		if err := os.WriteFile(picture.file, []byte(picture.draw()), 0o666); err != nil {
			return fmt.Errorf("--%s: %w", picture.flag, err)
		}
	}
	return nil
}

// title is the title of the SVG, which a screen reader reads.
func (s *simulation) title() string {
	if s.simFlags.scenario != "" {
		return "The run of " + filepath.Base(s.simFlags.scenario)
	}
	return fmt.Sprintf("An election of %d nodes by %s", s.nodes, s.algorithm)
}

// widthOf returns the width of a diagram: the requested one, otherwise that of the terminal, and 0 if unknown.
func widthOf(out io.Writer, asked int) int {
	if asked > 0 {
		return asked
	}
	if width, ok := terminalWidth(out); ok {
		return max(width, minWidth)
	}
	return 0
}
