package algo

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// NodeID identifies a process for its whole life: a version 4 UUID, drawn once by
// the host, ordered bytewise. The zero value is nobody.
type NodeID [16]byte

// IsZero reports whether id is nobody.
func (id NodeID) IsZero() bool { return id == NodeID{} }

// Compare orders IDs bytewise: negative when id comes before o.
func (id NodeID) Compare(o NodeID) int { return bytes.Compare(id[:], o[:]) }

const hexDigits = "0123456789abcdef"

// dashBefore says before which bytes the text form of a UUID has a dash.
var dashBefore = [16]bool{4: true, 6: true, 8: true, 10: true}

// String returns the usual text form of a UUID, of 36 characters. (It stands here
// because encoding/hex and google/uuid would bring fmt and os into every
// algorithm.)
func (id NodeID) String() string {
	text := make([]byte, 0, 36)
	for i, b := range id {
		if dashBefore[i] {
			text = append(text, '-')
		}
		text = append(text, hexDigits[b>>4], hexDigits[b&15])
	}
	return string(text)
}

// MarshalText returns String, so that an ID is readable in JSON.
func (id NodeID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (id *NodeID) UnmarshalText(text []byte) error {
	parsed, err := ParseNodeID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

var errNodeID = errors.New("algo: a node id is a UUID of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")

// ParseNodeID reads what String wrote.
func ParseNodeID(s string) (NodeID, error) {
	var id NodeID
	for i := range id {
		ok := true
		if dashBefore[i] {
			s, ok = strings.CutPrefix(s, "-")
		}
		b, err := strconv.ParseUint(s[:min(len(s), 2)], 16, 8)
		if !ok || err != nil || len(s) < 2 {
			return NodeID{}, errNodeID
		}
		id[i], s = byte(b), s[2:]
	}
	if s != "" {
		return NodeID{}, errNodeID
	}
	return id, nil
}
