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

// JSON writes each event as a line with a JSON object:
//
//	{"at":5000000,"node":"n1","kind":"announce","leader":{"epoch":1,"id":"n3"}}
//
// The fields have this order. The first three are always present, the others depend on the kind.
//
//	at              number  nanoseconds since a moment that the driver has chosen
//	node            string  node of the event: its name, or its ID if Names returns no name
//	kind            string  one of the Kinds
//	peer            string  like node: peer of a message, or suspected or trusted node
//	message         object  kind: a string; body: an object with the fields of the message;
//	                        repeat: true for an algo.Periodic of the message
//	timer           string  set, stop, expire: the timer
//	until           number  set: the deadline, in the unit of at, on the clock of the node
//	epoch           number  start, save, crash, restart: the saved epoch
//	leader          object  announce: epoch: a number; id: a string like node, empty for no leader
//	config_version  number  config-changed: the config version
//	text            string  drop, suspect, trust: the reason; note: the note; ready: the address;
//	                        lost: the number of missing events
//
// A JSON is not safe for concurrent use. [ParseJSON] reads a line.
type JSON struct {
	// Names returns the name of a node, or "" for a node without a name. If Names is nil, no node has a name.
	Names func(algo.NodeID) string

	out *json.Encoder
	err error
}

// NewJSON returns a JSON that writes each event to w immediately.
func NewJSON(w io.Writer) *JSON {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return &JSON{out: out}
}

// line is the form of a line.
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
	Version uint64        `json:"config_version,omitempty"`
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

// ReadMessage is a message that [ParseJSON] has read.
type ReadMessage struct {
	Name string          // kind of the message
	Body json.RawMessage // object with the fields of the message
}

// Kind returns the kind of the message.
func (m ReadMessage) Kind() string { return m.Name }

// MarshalJSON returns the body. So a JSON writes the message as it was read.
func (m ReadMessage) MarshalJSON() ([]byte, error) { return m.Body.MarshalJSON() }

// ParseJSON parses a line that a JSON without Names has written. The message of the event is a [ReadMessage], which an
// algo.Periodic may contain.
func ParseJSON(data []byte) (Event, error) {
	var body json.RawMessage
	var epoch algo.Epoch
	var announced leader
	sent := message{Body: &body}
	l := line{Message: &sent, Epoch: &epoch, Leader: &announced}
	if err := jsonlite.Unmarshal(data, &l); err != nil {
		return Event{}, fmt.Errorf("trace: %w", err)
	}
	e := Event{At: l.At, Kind: l.Kind, Timer: l.Timer, Until: l.Until, Epoch: epoch, ConfigVersion: l.Version, Format: l.Text}
	e.Leader.Epoch = announced.Epoch
	if err := errors.Join(parseID(&e.Node, l.Node), parseID(&e.Peer, l.Peer), parseID(&e.Leader.ID, announced.ID)); err != nil {
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

// parseID parses an ID. For an empty text, it leaves id unchanged.
func parseID(id *algo.NodeID, text string) (err error) {
	if text != "" {
		*id, err = algo.ParseNodeID(text)
	}
	return err
}

// Event writes one event. After an error of the writer, it does nothing: see [JSON.Err].
func (j *JSON) Event(e Event) {
	if j.err != nil {
		return
	}
	l := line{
		At: e.At, Node: j.name(e.Node), Kind: e.Kind, Peer: j.name(e.Peer),
		Timer: e.Timer, Until: e.Until, Version: e.ConfigVersion, Text: e.withNames(j.name).Text(),
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

// Err returns the first error of the writer.
func (j *JSON) Err() error { return j.err }

// name returns the name of a node, or its ID if it has none. For the zero ID, it returns "".
func (j *JSON) name(id algo.NodeID) string { return nameOf(id, j.Names, "") }
