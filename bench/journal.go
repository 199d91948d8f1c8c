package bench

import (
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/trace"
)

// journal is what nodes report about one election, each with its own stamp.
type journal struct {
	mu    sync.Mutex
	notes map[string][]trace.Event // by node, in its order
}

func newJournal() *journal { return &journal{notes: make(map[string][]trace.Event)} }

// see takes one event.
func (j *journal) see(node string, e trace.Event) {
	switch e.Kind {
	case trace.Send, trace.Deliver, trace.Save, trace.Saved, trace.Announce:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.notes[node] = append(j.notes[node], e)
	}
}

// take returns what was reported since the last call.
func (j *journal) take() map[string][]trace.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	notes := j.notes
	j.notes = make(map[string][]trace.Event)
	return notes
}

// isOfElection reports whether an event is a message of the kinds that count, sent or delivered.
func isOfElection(e trace.Event, kinds map[string]bool) bool {
	return (e.Kind == trace.Send || e.Kind == trace.Deliver) && election.Counts(e.Message, kinds)
}

// tally is numbers of messages by kind.
type tally map[string]int

// counted is the messages of an election, of all nodes together, repeats left out.
type counted struct{ Sent, Received tally }

// count counts them.
func count(notes map[string][]trace.Event) counted {
	c := counted{Sent: make(tally), Received: make(tally)}
	for _, events := range notes {
		for _, e := range events {
			switch e.Kind {
			case trace.Send:
				c.Sent[e.Message.Kind()]++
			case trace.Deliver:
				c.Received[e.Message.Kind()]++
			}
		}
	}
	return c
}

// turnaround is from the first message of an election until the last node knew its
// leader; zero when nobody changed its mind.
func turnaround(notes map[string][]trace.Event) time.Duration {
	var began, knew time.Duration
	for _, events := range notes {
		for _, e := range events {
			switch {
			case e.Kind == trace.Send && (began == 0 || e.At < began):
				began = e.At
			case e.Kind == trace.Announce:
				knew = max(knew, e.At)
			}
		}
	}
	return max(0, knew-began)
}

// atOnce is when a message leaves of a node that saves in memory.
func atOnce(events []trace.Event) time.Duration { return events[0].At }

// way is the messages of a kind from one node to another.
type way struct{ from, to, kind string }

// flights are how long each message took that arrived: from when it was handed to the
// transport until the other node's loop took it. names are the nodes by ID, and left says when
// a message left that is the first of events.
func flights(notes map[string][]trace.Event, names map[string]string, left func(events []trace.Event) time.Duration) []time.Duration {
	departed, arrived := make(map[way][]time.Duration), make(map[way][]time.Duration)
	for node, events := range notes {
		for at, e := range events {
			peer := names[e.Peer.String()]
			switch e.Kind {
			case trace.Send:
				w := way{node, peer, e.Message.Kind()}
				departed[w] = append(departed[w], left(events[at:]))
			case trace.Deliver:
				w := way{peer, node, e.Message.Kind()}
				arrived[w] = append(arrived[w], e.At)
			}
		}
	}
	var all []time.Duration
	for w, departures := range departed {
		slices.Sort(departures)
		for i, at := range arrived[w] { // a connection keeps the order
			if i < len(departures) {
				all = append(all, at-departures[i])
			}
		}
	}
	return all
}
