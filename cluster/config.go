package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/secure"
	"github.com/elect-go/elect/trace"
)

// Config is one member of a cluster. Zero values mean the defaults that stand
// behind each field.
type Config struct {
	// Cluster is the name of the cluster, the same on all its members: "elect".
	Cluster string
	// Name is this member's, unique in the cluster: the name of the host and the port of
	// Listen, as in "web3-7400", so that several members on one host have several names.
	Name string
	// Listen is where this member listens, host:port.
	Listen string
	// Advertise is where the others reach it, host:port: Listen. It is needed where
	// Listen names no host, or one that the others cannot dial.
	Advertise string

	// Bootstrap, Join and RemoveSuspectedAfter need a quorum: the lease, which is the default, or vote. Without a
	// quorum there is Members.

	// Bootstrap makes this node found a cluster at its first start: at once if Join names no
	// other node, or when each address there has refused the connection, or leads to a node in
	// no cluster. So it may stay set, on all nodes as well, with the same Join: of those that are
	// connected one founds, and a node that has lost its data joins the others again.
	Bootstrap bool
	// Join are addresses of members, any of which leads this node into the cluster at its first
	// start. Its own address among them does no harm. A host may be a name, here and in
	// Members: it is looked up at every attempt, and all its addresses are tried.
	// One name may have the addresses of all members.
	Join []string
	// Members are the addresses of all members, this one's own included, equal on all
	// of them. It stands instead of Join and Bootstrap. With a quorum the node at the first address, in the
	// order of strings, founds the cluster when all others have answered: start all of them once. Afterwards
	// a quorum suffices, and others may join. Without a quorum the list is the membership: change it on each
	// node, with SetMembers or a restart. An entry equal to Listen is this node, also if its port is 0.
	Members []string

	// Data is the folder for what must survive a restart. Lease and vote need one. Without it, a restart
	// makes this a new member.
	DataDir string

	// Algorithm is "bully", or another word of the registry: "bully".
	Algorithm string
	// Options changes the options of the algorithm, when set. It gets a pointer to
	// the struct of the algorithm's package, filled with the defaults for the timing:
	//
	//	func(o any) error { o.(*bully.Options).SkipSuspected = false; return nil }
	Options func(options any) error

	// Lesson lets an algorithm run that is its source to the letter (see algo.Spec.Textbook).
	// It is not for use: every address must be of the loopback then.
	AllowTextbook bool

	// Priority orders candidates: a higher priority is elected first, then a higher ID. Default: 0.
	Priority int
	// Witness is set for a member that votes and follows, but is never elected. With a quorum, the member that
	// bootstraps the cluster cannot be a witness.
	Witness bool

	// Meta is what this member says of itself to others, such as the address of its service: in Leadership,
	// Members and Status. Keys are as names, values are text of 1 to 255 bytes, and all of it is at most 1 KiB,
	// with an = and the end of a line for each. See SetMeta.
	Meta map[string]string

	// RemoveSuspectedAfter is how long the leader suspects a member without a break before it removes the
	// member: 0, never. It is at least Timing.MaxTimeout. With a quorum at least three members remain, and the
	// removed node may join again under a new ID.
	RemoveSuspectedAfter time.Duration
	// NoAdmin has this member refuse what an operator asks it to change over the network
	// (see package operator): membership, priority and leadership.
	NoAdmin bool

	// SecretFile and TLS are two ways to authenticate peers. A cluster uses one of them: see package secure. A node whose
	// address is not of the loopback needs one of them, or Insecure.
	SecretFile string
	TLS        secure.Certificate
	// Security is "migrate" while a running cluster goes from none of them to one, or, with both, from a secret to
	// certificates: the previous authentication is still accepted, and used to dial. Empty otherwise.
	Security string
	// Insecure lets any host that reaches this node join and administer the cluster.
	Insecure bool

	// Drain is how long this node waits for the work of Lead to return when it stops, resigns, leaves or hands over:
	// 5 s. Until the work has returned, this node leads for the others. When the time is over, the work of the next
	// leader may begin.
	DrainTimeout time.Duration

	// Lease lets a leader lead only while a quorum has granted it the lease: then at most one node leads at any
	// moment, with any algorithm, and the tokens of its leaderships rise. The zero value means lease.Defaults of
	// Timing, or lease.Off with an algorithm for lessons; its Drain is that of this Config. All members
	// have equal options, except Preempt and Drain. A lease needs Data. With lease.Off a failover takes
	// milliseconds, and bully and ring need no quorum, but two nodes may lead at once. See package lease.
	Lease lease.Options

	// Timing is all that depends on the network: algo.LAN().
	Timing algo.Timing

	// Logger is where this node logs: nowhere. The loop of the node calls the handler, so the handler must not
	// block: a blocked node neither votes nor sends heartbeats. An output that may block, such as a pipe, needs a
	// queue in front of it. The program provides the queue, because only the program knows when to write the rest.
	Logger *slog.Logger
	// Trace is called with everything that happens at this node, on its loop: it must not block. Times are since
	// Started. The first event is trace.Ready.
	Trace func(trace.Event)
	// Registry has the algorithms that the word Algorithm can select: those of package builtin.
	Registry algo.Registry
	// Store keeps what must survive a restart, instead of the folder Data. Run closes it.
	Store Store
	// Network replaces TCP, DNS and the clock: see package clustertest.
	Network Network
}

// Network is what a node knows of the world outside. Zero values mean the real one.
type Network struct {
	// Listen opens Config.Listen: [Listen]. A network that can stop a process, as SIGSTOP does, has listeners with
	// a method Turn(): the loop of the node calls it before each of its turns. On the loopback without a secret, a
	// connection that wraps one of TCP has a method NetConn() net.Conn: else the user at its other end is not known.
	Listen func(addr string) (net.Listener, error)
	// Dial connects to the address of a member: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Lookup returns the IP addresses of a host: DNS, and with a Dial of its own the name as it is.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Clock is what the node measures time by: CLOCK_BOOTTIME on Linux for a node with a lease, and otherwise the
	// clock of the Go runtime, which may stand still while the machine sleeps.
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

// complete fills in the defaults and makes the algorithm, or says every mistake at once. Without Data
// Store is set as well.
func (c *Config) applyDefaults() (algo.Spec, error) {
	var found problems
	want := found.require
	c.Cluster, c.Algorithm, c.Timing = cmp.Or(c.Cluster, "elect"), cmp.Or(c.Algorithm, "bully"), cmp.Or(c.Timing, algo.LAN())
	c.Logger, c.DrainTimeout = cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), cmp.Or(c.DrainTimeout, 5*time.Second)
	if c.Registry == nil {
		c.Registry = builtin.Registry()
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

	c.checkAddresses(&found)
	want(c.DrainTimeout >= 0, "drain_timeout", c.DrainTimeout.String(), "not below 0")
	want(c.RemoveSuspectedAfter == 0 || c.RemoveSuspectedAfter >= c.Timing.MaxTimeout, "remove_suspected_after", c.RemoveSuspectedAfter.String(),
		"0, or at least max_timeout (%v): until then a suspicion may be a mistake", c.Timing.MaxTimeout)
	timing := fd.Check(c.Timing)
	spec, err := c.newSpec(timing == nil)
	found.add(timing, err)
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
	want(!spec.Textbook || c.AllowTextbook, "algorithm", c.Algorithm, "one for use, or allow_textbook as well (--allow-textbook): "+
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

// mistakes are those of a Config.
type problems struct{ all []error }

func (m *problems) add(errs ...error) { m.all = append(m.all, errs...) }

func (m *problems) require(ok bool, field, got, want string, args ...any) {
	if !ok {
		m.add(&algo.SettingError{Field: field, Got: got, Want: fmt.Sprintf(want, args...)})
	}
}

// requireList rejects what needs a quorum.
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

// addresses says what is wrong with those of the configuration.
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

// check records what is wrong with an address.
func (c *Config) checkAddrField(found *problems, field, addr string, shared bool, form string) error {
	err := checkAddr(addr, shared)
	found.require(err == nil, field, strconv.Quote(addr), form+" (%v)", err)
	found.require(!c.AllowTextbook || err != nil || isLoopback(addr), field, strconv.Quote(addr),
		"an address of the loopback, such as 127.0.0.1:7400, for allow_textbook is set")
	return err
}

// list records what is wrong with Members.
func (c *Config) checkList(found *problems) {
	seen := make(map[string]bool)
	for i, addr := range c.Members {
		field := fmt.Sprintf("members[%d]", i)
		isOwn := c.Advertise == "" && addr == canonical(c.Listen) // its port is 0
		_ = c.checkAddrField(found, field, addr, !isOwn, "host:port")
		found.require(!seen[addr], field, strconv.Quote(addr), "each address once")
		seen[addr] = true
	}
	found.require(len(c.Members) <= maxMembers, "members", strconv.Itoa(len(c.Members))+" addresses", "at most %d", maxMembers)
	if len(c.Members) > 0 {
		self := canonical(cmp.Or(c.Advertise, c.Listen))
		found.require(seen[self] || checkAddr(self, false) != nil, "members", strconv.Quote(strings.Join(c.Members, ", ")),
			"this member's own address among them (%s)", self)
	}
}

// checkMembers completes Members, and returns what is wrong with it.
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

// checkAddr says what keeps addr from being host:port. One to listen at may leave the host out, and its
// port may be 0; one that is shared is for others, elsewhere.
func checkAddr(addr string, shared bool) error {
	if addr == "" {
		return errors.New("it is empty")
	}
	if len(addr) > maxAddr {
		return fmt.Errorf("it has more than %d characters", maxAddr)
	}
	if strings.ContainsFunc(addr, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("it is not plain text") // it is shown in logs and tables
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

// canonical is an address as it is compared with others, if it is host:port.
func canonical(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	number, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil {
		return addr // what is wrong with it is said elsewhere
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

// spec makes the algorithm: after a mistake that with its default options, for its claims, which other
// mistakes depend on. Whether its options fit can be said only for a timing that is sound.
func (c *Config) newSpec(sound bool) (algo.Spec, error) {
	factory, ok := c.Registry[c.Algorithm]
	if !ok {
		names := slices.Sorted(maps.Keys(c.Registry))
		return algo.Spec{}, &algo.SettingError{Field: "algorithm", Got: strconv.Quote(c.Algorithm), Want: "one of " + strings.Join(names, ", ")}
	}
	options := func(any) error { return nil }
	usual, _ := factory(algo.LAN(), options)
	if !sound {
		return usual, nil
	}
	if c.Options != nil {
		options = c.Options
	}
	spec, err := factory(c.Timing, options)
	if err != nil {
		spec = usual
	}
	return spec, err
}
