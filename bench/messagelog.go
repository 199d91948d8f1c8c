package bench

import (
	"slices"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/trace"
)

// messageLog records the events of one election, with the timestamps of their nodes.
type messageLog struct {
	mu    sync.Mutex
	notes map[string][]trace.Event // by node, in its order
}

func newMessageLog() *messageLog { return &messageLog{notes: make(map[string][]trace.Event)} }

// see records an event.
func (l *messageLog) see(node string, e trace.Event) {
	switch e.Kind {
	case trace.Send, trace.Deliver, trace.Save, trace.Saved, trace.Announce:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.notes[node] = append(l.notes[node], e)
	}
}

// take returns what was reported since the last call.
func (l *messageLog) take() map[string][]trace.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	notes := l.notes
	l.notes = make(map[string][]trace.Event)
	return notes
}

// isOfElection reports whether an event is a message of the kinds that count, sent or delivered.
func isOfElection(e trace.Event, kinds map[string]bool) bool {
	return (e.Kind == trace.Send || e.Kind == trace.Deliver) && election.Counts(e.Message, kinds)
}

// counts is the number of messages by kind.
type counts map[string]int

// counted contains the message counts of an election, over all nodes and without repeats.
type counted struct{ Sent, Received counts }

// count counts the messages of an election.
func count(notes map[string][]trace.Event) counted {
	c := counted{Sent: make(counts), Received: make(counts)}
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

// turnaround returns the time from the first message of an election until the last node knew its
// leader; zero if no node changed its leader.
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

// atOnce returns the departure time of the first message of events, for a node that saves in memory.
func atOnce(events []trace.Event) time.Duration { return events[0].At }

// way identifies the messages of a kind from one node to another.
type way struct{ from, to, kind string }

// flights returns the transit times of all delivered messages: from the handover to the transport
// until the receiver's loop handles it. names are the names of the nodes by ID. left returns the
// departure time of the first message of events.
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
		for i, at := range arrived[w] { // a connection preserves the order
			if i < len(departures) {
				all = append(all, at-departures[i])
			}
		}
	}
	return all
}
