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

// Metadata is what a member says of itself to others. It is in its hello, which it says again to all members when
// that changes: no config has it, and no node saves it.

const (
	maxMeta      = 1024 // bytes of all of it, as in the tag of wire.Hello
	maxMetaValue = 255
)

// metaText is metadata as it travels, "key=value" in a line each, by key; or says every mistake in it.
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

// metadata is what can be shown of what a member has said, which may be anything.
func decodeMeta(text string) map[string]string {
	shown := make(map[string]string)
	for line := range strings.SplitSeq(text, "\n") {
		if key, value, _ := strings.Cut(line, "="); wire.IsName(key) {
			shown[key] = untrusted.Truncate(untrusted.Printable(value), maxMetaValue)
		}
	}
	return shown
}

// SetMeta changes what this member says of itself, in place of Config.Meta, until it is started again. It
// returns when the change is made; the members that can be reached are told, and the others hear of it when
// they are connected next. Its error is an *algo.SettingError for each mistake, context.Cause(ctx), or ErrStopped.
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

// learn takes what a member says of itself.
func (n *Node) handleMeta(id algo.NodeID, text string) {
	n.peerMeta[id] = text
	n.leadership.publishMeta(id, text)
}

// forget drops what was said by who is no member and not connected.
func (n *Node) dropMeta() {
	maps.DeleteFunc(n.peerMeta, func(id algo.NodeID, _ string) bool {
		_, connected := n.peers[id]
		return !connected && id != n.self.ID && !n.engine.View().Contains(id)
	})
}
