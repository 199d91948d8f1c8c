package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/jsonlite"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// readTrace returns the run of a live cluster, from the lines that its nodes have written. The lines of several nodes
// may follow each other: their times come from one clock if the nodes ran on one machine. The nodes are n1, n2 and so
// on in the order of their IDs.
func readTrace(text string) (*Result, error) {
	if len(text) > MaxTrace {
		return nil, fmt.Errorf("%w: the trace has %d bytes, want at most %d: cut its oldest lines", ErrLimit, len(text), MaxTrace)
	}
	var events []trace.Event
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e, err := trace.ParseJSON([]byte(line))
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d is no event of a trace, as elect node --trace writes them: %w", number, err)
		case e.Node.IsZero() || e.Kind == "":
			return nil, fmt.Errorf("line %d is no event of a trace: it has no node or no kind", number)
		}
		events = append(events, e)
	}
	names := nameNodes(events)
	if len(names) > MaxNodes {
		return nil, fmt.Errorf("%w: the trace is of %d nodes, want at most %d", ErrLimit, len(names), MaxNodes)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the trace has no event")
	}
	// A message is sent before it arrives, even if both have the same time.
	slices.SortStableFunc(events, func(a, b trace.Event) int {
		if a.At == b.At {
			return strings.Compare(order(a), order(b))
		}
		return int(max(-1, min(1, a.At-b.At)))
	})
	first := events[0].At
	c := newCollector(0, true, func(error) {})
	c.grow(len(names))
	for i := range c.nodes {
		c.nodes[i].span = "" // whether it runs is unknown until it starts
	}
	for _, e := range events {
		e.At -= first
		e.Node, e.Peer, e.Leader.ID = names[e.Node], names[e.Peer], names[e.Leader.ID]
		e.Message = withNames(e.Message, names)
		e.Format, e.Args = replaceNames(e.Text(), names), nil
		if e.Kind == trace.Ready || e.Kind == trace.Saved {
			continue
		}
		if e.Message != nil {
			c.kinds[e.Message.Kind()] = true
		}
		c.event(e)
	}
	if c.limit != nil {
		return nil, c.limit
	}
	result := c.finish(events[len(events)-1].At - first + 1)
	result.Mode, result.Title = ModeTrace, "Trace of a live cluster"
	for id, own := range names {
		if i := sim.Number(own) - 1; i >= 0 {
			result.Nodes[i].ID = id.String()
		}
	}
	return result, nil
}

// order sorts the events of one time: sends come first.
func order(e trace.Event) string {
	if e.Kind == trace.Send {
		return "a"
	}
	return "b"
}

// nameNodes returns the ID of the simulator for each node, in the order of the nodes' IDs.
func nameNodes(events []trace.Event) map[algo.NodeID]algo.NodeID {
	all := make(map[algo.NodeID]algo.NodeID)
	for _, e := range events {
		for _, id := range []algo.NodeID{e.Node, e.Peer, e.Leader.ID} {
			if !id.IsZero() {
				all[id] = id
			}
		}
	}
	for i, id := range slices.SortedFunc(maps.Keys(all), algo.NodeID.Compare) {
		all[id] = sim.ID(i + 1)
	}
	return all
}

// replaceNames replaces the IDs of nodes in a text.
func replaceNames(text string, names map[algo.NodeID]algo.NodeID) string {
	if !strings.Contains(text, "-") {
		return text
	}
	for id, own := range names {
		text = strings.ReplaceAll(text, id.String(), sim.Name(own))
	}
	return text
}

// withNames returns a message with names in place of IDs.
func withNames(m algo.Message, names map[algo.NodeID]algo.NodeID) algo.Message {
	inner, repeat := algo.Unwrap(m)
	read, ok := inner.(trace.ReadMessage)
	if !ok {
		return m
	}
	read.Body = json.RawMessage(replaceNames(string(read.Body), names))
	if repeat {
		return algo.Periodic{Message: read}
	}
	return read
}

// readFields returns the fields of a message of a trace, sorted.
func readFields(m trace.ReadMessage) (all []Field) {
	var fields map[string]json.RawMessage
	if jsonlite.Unmarshal(m.Body, &fields) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text := fields[name]
		var plain string
		if jsonlite.Unmarshal(text, &plain) != nil {
			plain = string(bytes.TrimSpace(text))
		}
		all = append(all, Field{name, plain})
	}
	return all
}
