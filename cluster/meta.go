package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/internal/wire"
)

// Metadata is sent in the hello of a member. When it changes, the member sends its hello again to all members. It is
// neither part of a config nor saved.

const (
	maxMeta      = 1024 // bytes of all of it, as in the tag of wire.Hello
	maxMetaValue = 255
)

// encodeMeta returns metadata as it is sent, a line "key=value" for each key in order, and an error with each problem.
func encodeMeta(meta map[string]string) (string, error) {
	var lines []string
	var found problems
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		value := meta[key]
		line := key + "=" + value
		lines = append(lines, line)
		isPlain := utf8.ValidString(value) && untrusted.Printable(value) == value
		found.require(wire.IsName(key) && value != "" && len(value) <= maxMetaValue && isPlain, "meta", strconv.Quote(line),
			"key=value, a name and 1 to %d bytes that can be printed", maxMetaValue)
	}
	text := strings.Join(lines, "\n")
	found.require(len(text) <= maxMeta, "meta", fmt.Sprintf("%d bytes", len(text)), "at most %d, with an = and the end of a line for each", maxMeta)
	return text, errors.Join(found.all...)
}

// decodeMeta returns the printable part of received metadata, which may be any text.
func decodeMeta(text string) map[string]string {
	shown := make(map[string]string)
	for line := range strings.SplitSeq(text, "\n") {
		if key, value, _ := strings.Cut(line, "="); wire.IsName(key) {
			shown[key] = untrusted.Truncate(untrusted.Printable(value), maxMetaValue)
		}
	}
	return shown
}

// SetMeta replaces the metadata of this member until its next start. It returns when this node uses the new metadata.
// Connected members receive it at once, other members when they connect. Its error is an *algo.SettingError for each
// problem, context.Cause(ctx), or ErrStopped.
func (n *Node) SetMeta(ctx context.Context, meta map[string]string) error {
	text, err := encodeMeta(meta)
	if err != nil {
		return err
	}
	return n.runOperation(ctx, func() (*operation, error) {
		hello := *n.hello.Load()
		hello.Meta = text
		n.hello.Store(&hello)
		n.handleMeta(n.self.ID, text)
		for id := range n.engine.View().Others(n.self.ID) {
			n.send(driver.Envelope{To: id, Message: hello})
		}
		return nil, nil
	})
}

// handleMeta records the metadata of a member.
func (n *Node) handleMeta(id algo.NodeID, text string) {
	n.peerMeta[id] = text
	n.leadership.publishMeta(id, text)
}

// dropMeta drops the metadata of non-members that are not connected.
func (n *Node) dropMeta() {
	maps.DeleteFunc(n.peerMeta, func(id algo.NodeID, _ string) bool {
		_, connected := n.peers[id]
		return !connected && id != n.self.ID && !n.engine.View().Contains(id)
	})
}
