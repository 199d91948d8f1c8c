package algo

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// NodeID identifies a node for its whole life. It is a version 4 UUID, which the driver creates
// once. IDs are ordered bytewise. The zero value identifies no node.
type NodeID [16]byte

// IsZero reports whether id identifies no node.
func (id NodeID) IsZero() bool { return id == NodeID{} }

// Compare orders IDs bytewise: negative when id comes before o.
func (id NodeID) Compare(o NodeID) int { return bytes.Compare(id[:], o[:]) }

const hexDigits = "0123456789abcdef"

// dashBefore contains the bytes of a UUID that follow a dash in its text form.
var dashBefore = [16]bool{4: true, 6: true, 8: true, 10: true}

// String returns the usual text form of a UUID, with 36 characters. (It is implemented here
// because encoding/hex and google/uuid would add fmt and os to every algorithm.)
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

// MarshalText returns the text of String, so that an ID is readable in JSON.
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

// ParseNodeID parses the text form of String.
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
