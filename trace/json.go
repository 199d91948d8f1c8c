package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/jsonlite"
)

// JSON writes events as lines of JSON, one object each. Its fields stand in this order;
// those that do not count for the kind are left out, except the first three.
//
//	at       number   nanoseconds since the host's own zero
//	node     string   where it happened: a name if Names knows one, else the ID
//	kind     string   one of the Kinds
//	peer     string   like node: the peer of a message, or the suspected or trusted node
//	message  object   kind: a string; body: an object with the fields of the message;
//	                  repeat: true for an algo.Periodic of it
//	timer    string   set, stop, expire: the timer
//	until    number   set: when it ends, like at, in the clock of the node
//	epoch    number   start, save, crash, restart: as it was saved
//	leader   object   announce: epoch: a number; id: a string like node, empty for a vacancy
//	view     number   view: the number of the view
//	text     string   drop, suspect, trust, note: why; ready: the address; lost: how many
//
// A JSON is not safe for concurrent use. [ParseJSON] reads a line.
type JSON struct {
	// Names, when set, returns the name of a node, or nothing.
	Names func(algo.NodeID) string

	out *json.Encoder
	err error
}

// NewJSON returns a JSON that writes to w, without a buffer of its own.
func NewJSON(w io.Writer) *JSON {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return &JSON{out: out}
}

type line struct {
	At      time.Duration `json:"at"`
	Node    string        `json:"node"`
	Kind    Kind          `json:"kind"`
	Peer    string        `json:"peer,omitempty"`
	Message *message      `json:"message,omitempty"`
	Timer   algo.Timer    `json:"timer,omitempty"`
	Until   time.Duration `json:"until,omitempty"`
	Epoch   *algo.Epoch   `json:"epoch,omitempty"`
	Leader  *leader       `json:"leader,omitempty"`
	View    uint64        `json:"view,omitempty"`
	Text    string        `json:"text,omitempty"`
}

type message struct {
	Kind   string `json:"kind"`
	Body   any    `json:"body"`
	Repeat bool   `json:"repeat,omitempty"`
}

type leader struct {
	Epoch algo.Epoch `json:"epoch"`
	ID    string     `json:"id"`
}

// ReadMessage is a message of a trace that was read.
type ReadMessage struct {
	Name string // its kind
	Body json.RawMessage
}

// Kind returns the kind of the message.
func (m ReadMessage) Kind() string { return m.Name }

// MarshalJSON returns the body, so that a JSON writes the message as it was read.
func (m ReadMessage) MarshalJSON() ([]byte, error) { return m.Body.MarshalJSON() }

// ParseJSON reads a line of a JSON without Names. The message of the event is a [ReadMessage].
func ParseJSON(data []byte) (Event, error) {
	var body json.RawMessage
	var epoch algo.Epoch
	var led leader
	sent := message{Body: &body}
	l := line{Message: &sent, Epoch: &epoch, Leader: &led}
	if err := jsonlite.Unmarshal(data, &l); err != nil {
		return Event{}, fmt.Errorf("trace: %w", err)
	}
	e := Event{At: l.At, Kind: l.Kind, Timer: l.Timer, Until: l.Until, Epoch: epoch, Number: l.View, Format: l.Text}
	e.Leader.Epoch = led.Epoch
	if err := errors.Join(parseID(&e.Node, l.Node), parseID(&e.Peer, l.Peer), parseID(&e.Leader.ID, led.ID)); err != nil {
		return Event{}, fmt.Errorf("trace: %w", err)
	}
	switch read := (ReadMessage{Name: sent.Kind, Body: body}); {
	case sent.Kind == "":
	case sent.Repeat:
		e.Message = algo.Periodic{Message: read}
	default:
		e.Message = read
	}
	return e, nil
}

// parseID reads an ID; an empty text is none.
func parseID(id *algo.NodeID, text string) (err error) {
	if text != "" {
		*id, err = algo.ParseNodeID(text)
	}
	return err
}

// Event writes one event. After an error of the writer it does nothing: see Err.
func (j *JSON) Event(e Event) {
	if j.err != nil {
		return
	}
	l := line{
		At: e.At, Node: j.name(e.Node), Kind: e.Kind, Peer: j.name(e.Peer),
		Timer: e.Timer, Until: e.Until, View: e.Number, Text: e.withNames(j.name).Text(),
	}
	if e.Message != nil {
		body, repeat := algo.Unwrap(e.Message)
		l.Message = &message{body.Kind(), body, repeat}
	}
	switch e.Kind {
	case Start, Save, Crash, Restart:
		l.Epoch = &e.Epoch
	case Announce:
		l.Leader = &leader{e.Leader.Epoch, j.name(e.Leader.ID)}
	}
	j.err = j.out.Encode(l)
}

// Err is the first error of the writer.
func (j *JSON) Err() error { return j.err }

// name returns the name of a node; empty for no node.
func (j *JSON) name(id algo.NodeID) string { return nameOf(id, j.Names, "") }
