package wire

import (
	"cmp"
	"errors"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
)

// Version is the version of the protocol that this package implements. Optional fields may be added at the end
// of a message without a new version. A new kind of message needs one: to a peer that does not know the kind,
// it is an error. See the package comment.
const Version = 1

// MaxHello bounds the encoding of a Hello, in bytes: what a node accepts from a
// stranger before it knows whom it talks to.
const MaxHello = 3072

// Hello is the first message in both directions of a connection.
type Hello struct {
	// MinVersion and MaxVersion are the range of protocol versions spoken.
	MinVersion, MaxVersion uint16
	// Cluster is the configured name of the cluster; empty from a client: any.
	Cluster string `wire:"max=64"`
	// ClusterID was drawn at the founding of the cluster, or follows from its name if the algorithm has no
	// quorum; zero: not yet known.
	ClusterID algo.NodeID
	// Algorithm is the name of the algorithm in use.
	Algorithm string `wire:"max=32"`
	// Settings are those of the algorithm. See the function Settings.
	Settings string `wire:"max=512"`
	// Name is the configured name of the node.
	Name string `wire:"max=64"`
	// ID is who the node is, and Incarnation the number of its start, shifted by 32 bits of chance.
	ID          algo.NodeID
	Incarnation uint64
	// Client says that this is no member: it asks for the status.
	Client bool
	// Addr is where the node listens: host:port, as others dial it.
	Addr string `wire:"max=255"`
	// View is a digest of the members it knows.
	View uint64
	// Members is the list of all members in its configuration: see the function Members. Empty without one.
	Members string `wire:"max=512"`
	// Ran is for how long the process had run when it said this.
	Ran time.Duration
	// Meta is what the node says of itself: "key=value" in a line each.
	Meta string `wire:"max=1024"`
}

// Kind implements [algo.Message].
func (Hello) Kind() string { return "hello" }

// Read is the hello that the other side has said.
func Read(frame []byte) (Hello, error) {
	m, err := Hellos.Decode(frame)
	said, once := m.(Hello)
	if err == nil && !once {
		err = errors.New("wire: cannot decode hello: is said again")
	}
	return said, err
}

// Check reports whether the sender of h can work with the sender of peer: nil, or
// a [*MismatchError] with the first difference found. Versions must overlap. The
// cluster must have the same name, and the same ID when both know it. The algorithm must be the same. If either
// is a client only version and name count.
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
		{otherCluster && h.OtherMembers(peer), Lists, strconv.Quote(h.Members), strconv.QuoteToASCII(peer.Members)},
		{otherCluster, "cluster id", h.ClusterID.String(), peer.ClusterID.String()},
	} {
		if m.differs {
			return &MismatchError{Peer: peer.called(), What: m.what, Ours: m.ours, Theirs: m.theirs}
		}
	}
	return nil
}

// OtherMembers reports whether both have a list of all members, and not the same one.
func (h Hello) OtherMembers(peer Hello) bool {
	return h.Members != peer.Members && h.Members != "" && peer.Members != ""
}

func (h Hello) versions() string {
	return strings.Join(slices.Compact([]string{strconv.Itoa(int(h.MinVersion)), strconv.Itoa(int(h.MaxVersion))}), " to ")
}

// called is how errors and logs call the sender of h.
func (h Hello) called() string {
	what, name := "peer ", h.ID.String()
	if h.Client {
		what, name = "client ", ""
	}
	if h.Name != "" {
		name = plain(h.Name)
	}
	return strings.TrimSuffix(what+name, " ")
}

// What two of one cluster may have been configured differently.
const (
	Algorithm = "algorithm"
	Lists     = "list of members"
)

// MismatchError says that two nodes cannot work together, and what differs. Its
// text is safe to log.
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

// Differing returns the names of the settings that h and peer do not share, sorted:
// those with different values and those that only one of them has. The names are
// safe to log.
func (h Hello) Differing(peer Hello) []string {
	ours, theirs := strings.Split(h.Settings, "\n"), strings.Split(peer.Settings, "\n")
	var names []string
	for _, setting := range slices.Concat(ours, theirs) {
		if setting != "" && !(slices.Contains(ours, setting) && slices.Contains(theirs, setting)) {
			name, _, _ := strings.Cut(setting, "=")
			names = append(names, plain(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var names = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// IsName reports whether a name is safe in logs, tables and file names: 1 to 64 letters, digits, dots,
// underscores and dashes.
func IsName(name string) bool { return names.MatchString(name) }

// plain returns a text of a peer, as it is where it is a name, or else quoted and shortened: safe to log.
func plain(text string) string {
	const most = 32
	switch {
	case IsName(text):
		return text
	case len(text) <= most:
		return strconv.QuoteToASCII(text)
	}
	return strconv.QuoteToASCII(text[:most]) + " and so on, " + strconv.Itoa(len(text)) + " bytes"
}

// Settings returns the settings that members compare, as a Hello carries them: a line of each,
// "name=value", by name. A text that is too long ends with a hash: see the function Members.
func Settings(settings []algo.Setting) string {
	var lines []string
	for _, s := range settings {
		if !s.Local {
			lines = append(lines, strings.ToValidUTF8(s.Name+"="+s.Value, "?"))
		}
	}
	slices.Sort(lines)
	return fitting(strings.Join(lines, "\n"))
}

// Members returns a list of all members as a Hello carries it: "[n1:7400, n2:7400]", sorted. What is
// too long ends with "...=" and a hash of all of it, so that it can still be compared.
func Members(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return fitting("[" + strings.Join(slices.Sorted(slices.Values(list)), ", ") + "]")
}

func fitting(text string) string {
	const most = 512 // as in the tags of Hello
	if len(text) <= most {
		return text
	}
	hash := fnv.New64a()
	hash.Write([]byte(text))
	end := "\n...=" + strconv.FormatUint(hash.Sum64(), 36)
	return strings.ToValidUTF8(text[:most-len(end)], "") + end
}
