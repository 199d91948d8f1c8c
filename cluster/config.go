package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/trace"
)

// Config configures one member of a cluster. The zero value of a field means the default that its comment names.
type Config struct {
	// Cluster is the name of the cluster, the same on all members. Default: "elect".
	Cluster string
	// Name is the name of this member, unique in the cluster. Default: the name of the host and the port of Listen, as
	// in "web3-7400", so that several members on one host have different names.
	Name string
	// Listen is the address on which this member listens, host:port.
	Listen string
	// Advertise is the address that peers dial, host:port. It is needed if Listen names no host, or one that peers
	// cannot dial. Default: Listen.
	Advertise string

	// Bootstrap, Join and RemoveSuspectedAfter need an algorithm with a quorum: the lease, which is the default, or
	// vote. Bully and ring with lease.Off are "without a quorum": they use Members only.

	// Bootstrap allows this node to create a cluster at its first start: at once if Join names no other node, and
	// otherwise when each address there has refused the connection or leads to a node without a cluster. It may stay
	// set, on all nodes as well, with the same Join: one of the connected nodes creates the cluster, and a node that
	// has lost its data joins again.
	Bootstrap bool
	// Join are addresses of members. At its first start, this node contacts them until one adds it to its cluster. It
	// may contain the own address, and one name may resolve to the addresses of all members. Here and in Members, a
	// host name is resolved at every attempt, and each of its addresses is tried.
	Join []string
	// Members are the addresses of all members, including this one, equal on all members. It replaces Join and
	// Bootstrap. With a quorum, the node at the first address in string order creates the cluster when all others have
	// answered: start all of them once. Afterwards a quorum suffices, and other nodes may join. Without a quorum the
	// list is the config: change it on each node, with SetMembers or a restart. An entry equal to Listen is this node,
	// even if its port is 0.
	Members []string

	// DataDir is the folder for the state that must survive a restart. The lease and vote need one. Without it, a
	// restarted node is a new member.
	DataDir string

	// Algorithm elects the leader. All members have the same, with equal options. Default: bully.Factory. Package
	// builtin finds an algorithm by its name. With changes its options:
	//
	//	Algorithm: vote.Factory
	//	Algorithm: builtin.Lookup("vote")
	//	Algorithm: bully.With(func(o *bully.Options) { o.SkipSuspected = false })
	Algorithm algo.Factory

	// AllowTextbook allows an algorithm that follows its source exactly, for lessons (see algo.Spec.Textbook). Such a
	// node is not for production, and every address must be a loopback address. With another algorithm it has no
	// effect.
	AllowTextbook bool

	// Priority orders candidates: a higher priority is elected first, then a higher ID.
	Priority int
	// Witness makes this node a member that votes and follows, but is never elected. With a quorum, the member that
	// bootstraps the cluster cannot be a witness.
	Witness bool

	// Meta is text that this member publishes in Leadership, Members and Status, such as the address of its service.
	// Keys have the form of names. Values have 1 to 255 bytes. All of it has at most 1 KiB, counting an = and a line
	// end for each pair. See SetMeta.
	Meta map[string]string

	// RemoveSuspectedAfter is the time for which the leader must suspect a member without interruption before it
	// removes the member. Default: 0, which means never. It is at least Timing.MaxTimeout. With a quorum at least three
	// members remain, and the removed node may join again under a new ID.
	RemoveSuspectedAfter time.Duration
	// NoAdmin makes this member reject admin requests from the network (see package client): changes of members,
	// priority and leadership.
	NoAdmin bool

	// SecretFile and TLS are two ways to authenticate peers. A cluster uses one of them: see package tlsauth. A node
	// with an address outside of the loopback needs one of them, or Insecure.
	SecretFile string
	TLS        tlsauth.Certificate
	// Security is "migrate" while a running cluster goes from none of them to one, or, with both, from a secret to
	// certificates: the previous authentication is still accepted, and used to dial. Empty otherwise.
	Security string
	// KeepConnections keeps connections after the credentials with which they were made have been replaced. By default
	// they end within a minute: members connect again with the new ones.
	KeepConnections bool
	// Insecure lets any host that reaches this node join and administer the cluster.
	Insecure bool

	// DrainTimeout is the time for which this node waits until the Lead callbacks return when it stops, resigns, leaves
	// or hands over. Until they have returned, its peers follow it. After the timeout, the callbacks of the next leader
	// may start. Default: 5 s.
	DrainTimeout time.Duration

	// Lease lets a leader lead only while a quorum has granted it the lease: then at most one node leads at any
	// moment, with any algorithm, and the tokens of its leaderships rise. The zero value means lease.Defaults of
	// Timing, or lease.Off with an algorithm for lessons. New sets its DrainTimeout to that of this Config, and rejects
	// any other value but 0. All members have equal options, except Preempt and DrainTimeout. A lease needs DataDir or
	// Store. With lease.Off a failover takes milliseconds, and bully and ring need no quorum, but two nodes may lead at
	// once. See package lease.
	Lease lease.Options

	// Timing are the settings that depend on the network. Default: algo.LAN().
	Timing algo.Timing

	// Logger receives the log of this node. The loop of the node calls the handler, so the handler must not block: a
	// blocked node neither votes nor sends heartbeats. An output that may block, such as a pipe, needs a queue in front
	// of it. The program provides the queue, because only the program knows when to write the rest. Default: no log.
	Logger *slog.Logger
	// Trace is called with each event at this node. The loop of the node calls it, so it must not block. The times of
	// events count from the start of the node. The first event is trace.Ready. A trace.Announce has the time at which the
	// application learns of the leader, and none is skipped.
	Trace func(trace.Event)
	// Store keeps the state that must survive a restart, instead of DataDir. Run closes it.
	Store Store
	// Network replaces TCP, DNS and the clock: see package clustertest.
	Network Network
}

// Network replaces the network and the clock. The zero value of a field means the real one.
type Network struct {
	// Listen opens Config.Listen. Default: [Listen]. On the loopback without a secret, a connection that wraps a TCP
	// connection has a method NetConn() net.Conn: otherwise the node cannot identify the user at the other end.
	Listen func(addr string) (net.Listener, error)
	// Dial connects to the address of a member. Default: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Lookup returns the IP addresses of a host. Default: DNS; with a Dial of its own, the name itself.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Clock measures time. Default: CLOCK_BOOTTIME on Linux for a node with a lease, and otherwise the clock of the Go
	// runtime, which may stand still while the machine sleeps.
	Clock Clock
}

func (w Network) listen() func(addr string) (net.Listener, error) {
	if w.Listen == nil {
		return Listen
	}
	return w.Listen
}

// Limits that the wire has too.
const (
	maxAddr    = 255
	maxMembers = 512
	maxFrame   = 64 << 10
)

// applyDefaults fills in the defaults and makes the algorithm. Its error reports all problems at once. If DataDir is
// not set, Store is.
func (c *Config) applyDefaults() (algo.Spec, error) {
	var found problems
	want := found.require
	c.Cluster, c.Timing = cmp.Or(c.Cluster, "elect"), cmp.Or(c.Timing, algo.LAN())
	c.Logger, c.DrainTimeout = cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), cmp.Or(c.DrainTimeout, 5*time.Second)
	if c.Algorithm == nil {
		c.Algorithm = bully.Factory
	}
	c.Advertise, c.Join, c.Members = canonical(c.Advertise), canonicals(c.Join), canonicals(c.Members)
	if c.Name == "" {
		host, err := os.Hostname()
		want(err == nil, "name", "empty", "a name, for the host's is not known (%v)", err)
		c.Name = host
		if _, port, err := net.SplitHostPort(c.Listen); err == nil {
			c.Name += "-" + port
		}
	}
	const aName = "1 to 64 letters, digits, '.', '-' or '_'"
	want(wire.IsName(c.Cluster), "cluster", strconv.Quote(c.Cluster), aName)
	want(wire.IsName(c.Name), "name", strconv.Quote(c.Name), aName)
	_, err := encodeMeta(c.Meta)
	found.add(checkPriority(c.Priority), err)

	timing := fd.Check(c.Timing)
	spec, invalid := c.newSpec(timing == nil)
	c.AllowTextbook = c.AllowTextbook && spec.Textbook
	c.checkAddresses(&found)
	want(c.DrainTimeout >= 0, "drain_timeout", c.DrainTimeout.String(), "not below 0")
	c.resetLeaseDrainTimeout(&found)
	want(c.RemoveSuspectedAfter == 0 || c.RemoveSuspectedAfter >= c.Timing.MaxTimeout, "remove_suspected_after", c.RemoveSuspectedAfter.String(),
		"0, or at least max_timeout (%v): until then a suspicion may be a mistake", c.Timing.MaxTimeout)
	found.add(timing, invalid)
	if c.Lease == (lease.Options{}) && spec.Textbook {
		c.Lease = lease.Off
	}
	inner, isLeased := spec, !c.Lease.IsOff() && spec.Name != ""
	if isLeased && timing == nil {
		c.Lease = cmp.Or(c.Lease, lease.Defaults(c.Timing))
		c.Lease.DrainTimeout = c.DrainTimeout
		leased, err := lease.Wrap(spec, c.Timing, c.Lease)
		found.add(err)
		if err == nil {
			spec = leased
		}
	}
	if !isLeased && !inner.Claims.NeedsQuorum && inner.Name != "" {
		c.requireList(&found, inner)
	}
	want(!spec.Textbook || c.AllowTextbook, "algorithm", spec.Name, "one for use, or allow_textbook as well (--allow-textbook): "+
		"this is the textbook to the letter, which a crash or a lost message can leave without a leader, or with two")
	switch hasData := c.Store != nil || c.DataDir != ""; {
	case inner.Claims.NeedsQuorum:
		want(hasData, "data_dir", "empty", "a folder: a node that forgets its vote lets %s elect two leaders", inner.Name)
	case isLeased:
		want(hasData, "data_dir", "empty", "a folder, because a node that forgets a lease that it has granted makes two leaders possible; "+
			"or lease: off, which needs no folder, and lets two nodes lead at once under a partition")
	}
	return spec, errors.Join(found.all...)
}

// resetLeaseDrainTimeout checks Lease.DrainTimeout and sets it to 0, so that a Lease without another field counts as
// not set. If the lease is on, applyDefaults sets it to DrainTimeout.
func (c *Config) resetLeaseDrainTimeout(found *problems) {
	drain := c.Lease.DrainTimeout
	found.require(drain == 0 || drain == c.DrainTimeout, "lease.drain_timeout", drain.String(), "0: drain_timeout of the node counts")
	c.Lease.DrainTimeout = 0
}

// problems collects the errors of a Config.
type problems struct{ all []error }

func (m *problems) add(errs ...error) { m.all = append(m.all, errs...) }

func (m *problems) require(ok bool, field, got, want string, args ...any) {
	if !ok {
		m.add(&algo.SettingError{Field: field, Got: got, Want: fmt.Sprintf(want, args...)})
	}
}

// requireList rejects the settings that need a quorum.
func (c *Config) requireList(found *problems, inner algo.Spec) {
	quorum := "drop lease: off, choose algorithm vote"
	if inner.Textbook {
		quorum = "set lease: on"
	}
	const bothWays = "a quorum, which %s with lease: off does not have: %s, or set one list of members on all nodes instead"
	found.require(len(c.Join) == 0, "join", "set", bothWays, inner.Name, quorum)
	found.require(!c.Bootstrap, "bootstrap", "true", bothWays, inner.Name, quorum)
	found.require(c.RemoveSuspectedAfter == 0, "remove_suspected_after", c.RemoveSuspectedAfter.String(), bothWays, inner.Name, quorum)
}

// checkAddresses checks all addresses of the configuration.
func (c *Config) checkAddresses(found *problems) {
	unheard := c.checkAddrField(found, "listen", c.Listen, false, "host:port")
	if c.Advertise != "" {
		_ = c.checkAddrField(found, "advertise", c.Advertise, true, "host:port as the others dial it")
	} else if unheard == nil {
		host, port, _ := net.SplitHostPort(c.Listen)
		found.require(host != "" && !isUnspecified(host), "advertise", "empty",
			"host:port as the others dial it, for listen (%s) names no host", c.Listen)
		if port != "0" {
			c.Advertise = canonical(c.Listen)
		}
	}
	for i, addr := range c.Join {
		_ = c.checkAddrField(found, fmt.Sprintf("join[%d]", i), addr, true, "host:port")
	}
	found.require(len(c.Join) <= maxMembers, "join", strconv.Itoa(len(c.Join))+" addresses", "at most %d", maxMembers)
	found.require(len(c.Join) == 0 || len(c.Members) == 0, "members", "set beside join", "one of the two")
	found.require(!c.Bootstrap || len(c.Members) == 0, "bootstrap", "true beside members", "one of the two")
	c.checkList(found)
}

// checkAddrField checks one address.
func (c *Config) checkAddrField(found *problems, field, addr string, shared bool, form string) error {
	err := checkAddr(addr, shared)
	found.require(err == nil, field, strconv.Quote(addr), form+" (%v)", err)
	found.require(!c.AllowTextbook || err != nil || isLoopback(addr), field, strconv.Quote(addr),
		"an address of the loopback, such as 127.0.0.1:7400, for allow_textbook is set")
	return err
}

// checkList checks Members.
func (c *Config) checkList(found *problems) {
	seen := make(map[string]int) // index of each address
	for i, addr := range c.Members {
		field := fmt.Sprintf("members[%d]", i)
		isOwn := c.Advertise == "" && addr == canonical(c.Listen) // its port is 0
		_ = c.checkAddrField(found, field, addr, !isOwn, "host:port")
		first, isTwice := seen[addr]
		found.require(!isTwice, field, strconv.Quote(addr), "each address once, and members[%d] is the same", first)
		seen[addr] = i
	}
	found.require(len(c.Members) <= maxMembers, "members", strconv.Itoa(len(c.Members))+" addresses", "at most %d", maxMembers)
	if len(c.Members) > 0 {
		self := canonical(cmp.Or(c.Advertise, c.Listen))
		_, isListed := seen[self]
		found.require(isListed || checkAddr(self, false) != nil, "members", strconv.Quote(strings.Join(c.Members, ", ")),
			"this member's own address among them (%s)", self)
	}
}

// checkMembers completes Members and returns all its problems.
func (c *Config) checkMembers() error {
	var found problems
	c.Members = canonicals(c.Members)
	found.require(len(c.Members) > 0, "members", "empty", "the addresses of all members, this one's own included")
	c.checkList(&found)
	return errors.Join(found.all...)
}

func checkPriority(priority int) error {
	if int64(priority) < math.MinInt32 || int64(priority) > math.MaxInt32 {
		return &algo.SettingError{Field: "priority", Got: strconv.Itoa(priority), Want: "a number of 32 bits"}
	}
	return nil
}

// checkAddr returns the reason why addr is not host:port. An address to listen on may omit the host, and its port may
// be 0; a shared address is one that other nodes dial.
func checkAddr(addr string, shared bool) error {
	if addr == "" {
		return errors.New("it is empty")
	}
	if len(addr) > maxAddr {
		return fmt.Errorf("it has more than %d characters", maxAddr)
	}
	if strings.ContainsFunc(addr, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("it is not plain text") // logs and tables show addresses
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		if detail, ok := errors.AsType[*net.AddrError](err); ok {
			return errors.New(detail.Err)
		}
		return err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil:
		return fmt.Errorf("the port %q is not a number from 0 to 65535", port)
	case !shared:
		return nil
	case number == 0:
		return errors.New("the port is 0")
	case host == "":
		return errors.New("the host is missing")
	case isUnspecified(host):
		return fmt.Errorf("the host %s stands for all of a machine's own, it cannot be dialled from elsewhere", host)
	}
	return nil
}

// canonical returns the form in which addresses are compared.
func canonical(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	number, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil {
		return addr // checkAddr reports it
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	}
	return net.JoinHostPort(strings.ToLower(host), strconv.FormatUint(number, 10))
}

// canonicals returns the canonical form of each address.
func canonicals(addrs []string) []string {
	all := slices.Clone(addrs)
	for i, addr := range all {
		all[i] = canonical(addr)
	}
	return all
}

func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func isUnspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}

// newSpec makes the algorithm. If the timing is unsound, it uses another and omits what is wrong with the options,
// which depend on the timing: the claims are needed to check the other settings.
func (c *Config) newSpec(sound bool) (algo.Spec, error) {
	if sound {
		return c.Algorithm(c.Timing, nil)
	}
	spec, err := c.Algorithm(algo.LAN(), nil)
	if spec.Name != "" {
		err = nil
	}
	return spec, err
}
