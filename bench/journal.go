package bench

import (
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/trace"
)

// journal is what nodes report about one election, each with its own stamp.
type journal struct {
	mu    sync.Mutex
	notes map[string][]fleet.Event // by node, in its order
}

func newJournal() *journal { return &journal{notes: make(map[string][]fleet.Event)} }

// see takes one event.
func (j *journal) see(node string, e fleet.Event) {
	switch e.What {
	case fleet.Send, fleet.Deliver, fleet.Save, fleet.Leader:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.notes[node] = append(j.notes[node], e)
	}
}

// take returns what was reported since the last call.
func (j *journal) take() map[string][]fleet.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	notes := j.notes
	j.notes = make(map[string][]fleet.Event)
	return notes
}

// note is what is reported of a message, if it counts as one of an election. It has no stamp yet.
func note(t trace.Event, kinds map[string]bool) (e fleet.Event, counts bool) {
	what, known := map[trace.Kind]string{trace.Send: fleet.Send, trace.Deliver: fleet.Deliver}[t.Kind]
	if !known || !election.Counts(t.Message, kinds) {
		return e, false
	}
	return fleet.Event{What: what, Kind: t.Message.Kind(), Peer: t.Peer.String()}, true
}

// tally is numbers of messages by kind.
type tally map[string]int

// counted is the messages of an election, of all nodes together, repeats left out.
type counted struct{ Sent, Received tally }

// count counts them.
func count(notes map[string][]fleet.Event) counted {
	c := counted{Sent: make(tally), Received: make(tally)}
	for _, events := range notes {
		for _, e := range events {
			switch e.What {
			case fleet.Send:
				c.Sent[e.Kind]++
			case fleet.Deliver:
				c.Received[e.Kind]++
			}
		}
	}
	return c
}

// turnaround is from the first message of an election until the last node knew its
// leader; zero when nobody changed its mind.
func turnaround(notes map[string][]fleet.Event) time.Duration {
	var began, knew int64
	for _, events := range notes {
		for _, e := range events {
			switch {
			case e.What == fleet.Send && (began == 0 || e.At < began):
				began = e.At
			case e.What == fleet.Leader:
				knew = max(knew, e.At)
			}
		}
	}
	return time.Duration(max(0, knew-began))
}

// atOnce is when a message leaves of a node that saves in memory.
func atOnce(events []fleet.Event) int64 { return events[0].At }

// way is the messages of a kind from one node to another.
type way struct{ from, to, kind string }

// flights are how long each message took that arrived: from when it was handed to the
// transport until the other node's loop took it. names are the nodes by ID, and left says when
// a message left that is the first of events.
func flights(notes map[string][]fleet.Event, names map[string]string, left func(events []fleet.Event) int64) []time.Duration {
	departed, arrived := make(map[way][]int64), make(map[way][]int64)
	for node, events := range notes {
		for at, e := range events {
			peer := names[e.Peer]
			switch e.What {
			case fleet.Send:
				w := way{node, peer, e.Kind}
				departed[w] = append(departed[w], left(events[at:]))
			case fleet.Deliver:
				w := way{peer, node, e.Kind}
				arrived[w] = append(arrived[w], e.At)
			}
		}
	}
	var all []time.Duration
	for w, departures := range departed {
		slices.Sort(departures)
		for i, at := range arrived[w] { // a connection keeps the order
			if i < len(departures) {
				all = append(all, time.Duration(at-departures[i]))
			}
		}
	}
	return all
}
