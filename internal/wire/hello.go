package wire

import (
	"cmp"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// Version is the newest version of the protocol that this package implements. A message may gain optional fields
// without a new version. A new kind of message needs one, because a peer rejects an unknown kind. See the package
// comment.
const Version = 1

// MinVersion is the oldest version of the protocol that this package implements. It stays one below a new Version for a
// release, so that the nodes of a cluster can be replaced one by one.
const MinVersion = 1

// MaxHello limits the encoding of a Hello, in bytes: an unauthenticated peer can send that much.
const MaxHello = 3072

// Hello is the first message in both directions of a connection.
type Hello struct {
	// MinVersion and MaxVersion are the range of supported protocol versions.
	MinVersion, MaxVersion uint16
	// Cluster is the configured name of the cluster. A client may leave it empty to accept any cluster.
	Cluster string `wire:"max=64"`
	// ClusterID was drawn at the bootstrap of the cluster. If the algorithm has no quorum, it is derived from the
	// name. It is zero if it is not yet known.
	ClusterID algo.NodeID
	// Algorithm is the name of the algorithm in use.
	Algorithm string `wire:"max=32"`
	// Settings are the settings of the algorithm. See the function [Settings].
	Settings string `wire:"max=512"`
	// Name is the configured name of the node.
	Name string `wire:"max=64"`
	// ID identifies the node. Incarnation is the number of its start, shifted by 32 random bits.
	ID          algo.NodeID
	Incarnation uint64
	// Client is set if the sender is a client, not a node.
	Client bool
	// Addr is the address at which other nodes dial the sender, as host:port.
	Addr string `wire:"max=255"`
	// Digest is the digest of the sender's config.
	Digest uint64
	// Members is the list of static members in the sender's settings: see the function [Members]. It is empty without
	// one.
	Members string `wire:"max=512"`
	// Uptime is the time since the start of the sender's process.
	Uptime time.Duration
	// Meta is the metadata of the node: one "key=value" per line.
	Meta string `wire:"max=1024"`
}

// Kind implements [algo.Message].
func (Hello) Kind() string { return "hello" }

// ReadHello decodes the hello of the other side.
func ReadHello(frame []byte) (Hello, error) {
	m, err := HelloCodec.Decode(frame)
	hello, isHello := m.(Hello)
	if err == nil && !isHello {
		err = errors.New("wire: cannot decode hello: is said again")
	}
	return hello, err
}

// Check reports whether the sender of h can work with the sender of peer: it returns nil, or a [*MismatchError] with
// the first difference. The ranges of versions must overlap. The names of the cluster must be equal, and its IDs too
// if both know it. The algorithms must be equal. If either side is a client, only the version and the name count.
func (h Hello) Check(peer Hello) error {
	nodes := !h.Client && !peer.Client
	otherCluster := nodes && h.ClusterID != peer.ClusterID && !h.ClusterID.IsZero() && !peer.ClusterID.IsZero()
	anyCluster := h.Client && h.Cluster == "" || peer.Client && peer.Cluster == ""
	for _, m := range []struct {
		differs            bool
		what, ours, theirs string
	}{
		{max(h.MinVersion, peer.MinVersion) > min(h.MaxVersion, peer.MaxVersion), "protocol version", h.versions(), peer.versions()},
		{h.Cluster != peer.Cluster && !anyCluster, "cluster name", strconv.Quote(h.Cluster), strconv.Quote(peer.Cluster)},
		{nodes && h.Algorithm != peer.Algorithm, Algorithm, strconv.Quote(h.Algorithm), strconv.Quote(peer.Algorithm)},
		{otherCluster && h.MembersDiffer(peer), Lists, strconv.Quote(h.Members), strconv.QuoteToASCII(peer.Members)},
		{otherCluster, "cluster id", h.ClusterID.String(), peer.ClusterID.String()},
	} {
		if m.differs {
			return &MismatchError{Peer: peer.describe(), What: m.what, Ours: m.ours, Theirs: m.theirs}
		}
	}
	return nil
}

// MembersDiffer reports whether both nodes have a list of static members, and the lists differ.
func (h Hello) MembersDiffer(peer Hello) bool {
	return h.Members != peer.Members && h.Members != "" && peer.Members != ""
}

func (h Hello) versions() string {
	return strings.Join(slices.Compact([]string{strconv.Itoa(int(h.MinVersion)), strconv.Itoa(int(h.MaxVersion))}), " to ")
}

// describe names the sender of h in errors and logs.
func (h Hello) describe() string {
	role, name := "peer ", h.ID.String()
	if h.Client {
		role, name = "client ", ""
	}
	if h.Name != "" {
		name = quoteUnsafe(h.Name)
	}
	return strings.TrimSuffix(role+name, " ")
}

// Settings in which two nodes of one cluster may differ.
const (
	Algorithm = "algorithm"
	Lists     = "list of members"
)

// MismatchError reports that two nodes cannot work together, and the difference. Its text is safe to log.
type MismatchError struct {
	Peer   string // "peer n2", "client c1", "client"
	What   string // "protocol version", "cluster name", "cluster id", Lists or Algorithm
	Ours   string // names and lists are quoted
	Theirs string
}

func (e *MismatchError) Error() string {
	verb := cmp.Or(map[string]string{"protocol version": "speaks", Algorithm: "runs"}[e.What], "has")
	return "wire: " + e.Peer + " " + verb + " " + e.What + " " + e.Theirs + ", this node " + verb + " " + e.Ours
}

// DifferingSettings returns the sorted names of the settings that have different values in h and peer, or that only
// one of them has. The names are safe to log.
func (h Hello) DifferingSettings(peer Hello) []string {
	ours, theirs := strings.Split(h.Settings, "\n"), strings.Split(peer.Settings, "\n")
	var names []string
	for _, setting := range slices.Concat(ours, theirs) {
		if setting != "" && !(slices.Contains(ours, setting) && slices.Contains(theirs, setting)) {
			name, _, _ := strings.Cut(setting, "=")
			names = append(names, quoteUnsafe(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsName reports whether a name is safe in logs, tables and file names: 1 to 64 letters, digits, dots, underscores
// and dashes.
func IsName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	// A regular expression with this bound needs 50 kB in each process.
	return len(name) >= 1 && len(name) <= 64 && strings.Trim(name, letters) == ""
}

// quoteUnsafe returns a text of a peer that is safe to log: unchanged if it is a name, or else quoted and truncated.
func quoteUnsafe(text string) string {
	const maxBytes = 32
	switch {
	case IsName(text):
		return text
	case len(text) <= maxBytes:
		return strconv.QuoteToASCII(text)
	}
	return strconv.QuoteToASCII(text[:maxBytes]) + " and so on, " + strconv.Itoa(len(text)) + " bytes"
}

// Settings formats the settings that members compare, for a Hello: one "name=value" per line, sorted. A text that is
// too long ends with a hash: see the function [Members].
func Settings(settings []algo.Setting) string {
	var lines []string
	for _, s := range settings {
		if !s.Local {
			lines = append(lines, strings.ToValidUTF8(s.Name+"="+s.Value, "?"))
		}
	}
	slices.Sort(lines)
	return truncate(strings.Join(lines, "\n"))
}

// Members formats a list of static members for a Hello: "[n1:7400, n2:7400]", sorted. A text that is too long ends
// with "...=" and a hash of the whole text, so that it can still be compared.
func Members(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return truncate("[" + strings.Join(slices.Sorted(slices.Values(list)), ", ") + "]")
}

func truncate(text string) string {
	const maxBytes = 512 // as in the tags of Hello
	if len(text) <= maxBytes {
		return text
	}
	hash := fnv.New64a()
	hash.Write([]byte(text))
	suffix := "\n...=" + strconv.FormatUint(hash.Sum64(), 36)
	return strings.ToValidUTF8(text[:maxBytes-len(suffix)], "") + suffix
}
