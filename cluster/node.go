// Package cluster runs one member of a cluster: an election algorithm and a failure detector over TCP, with the real
// clock and a store. A program uses it to do work on one member at a time.
//
//	config := cluster.Config{
//		Name: "n1", Listen: "10.0.0.1:7400", Bootstrap: true, DataDir: "/var/lib/elect", SecretFile: "/etc/elect.secret",
//	}
//	err := cluster.Run(ctx, config, func(ctx context.Context, l cluster.Leadership) error {
//		return work(ctx) // while this node leads
//	})
//
// A leader that stops or resigns hands over when its Lead callback has returned. A callback that returns hands over,
// too.
//
// A program that needs more uses a [Node]: [Node.Run] takes part in elections, [Node.Lead] calls the callback,
// [Node.Leader] and [Node.Watch] show the leader, and [Node.Resign] hands over.
//
// # Guarantees
//
// By default at most one node leads at any moment: a leader holds a lease, which a quorum of the members has granted.
// After a crash no node leads until the lease of the crashed leader has expired, about a second with the default
// timing.
//
// With lease.Off in Config.Lease a failover takes milliseconds, and one node alone can lead. Then bully and ring elect
// a leader on each side of a partition. With any algorithm, a deposed leader may act until it learns of the next one.
// Package fence has tokens that a resource checks.
//
// # The loop
//
// One goroutine, the loop, owns all state that decides. It never waits for the network or the application. It waits for
// its store, because a message must not promise what a restart forgets.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/loglimit"
	"github.com/elect-go/elect/internal/share"
	"github.com/elect-go/elect/internal/simnet"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/transport"
)

// Store keeps the state of a node across crashes. The state is more than 64 KiB only with hundreds of members. Duties:
//
//   - Load returns the state that was saved last, or no bytes if there is none.
//   - Save is durable when it returns. A crash during Save leaves the previous or the new state. Save does not keep the
//     slice. After an error the state may be either of the two: the node stops, and a later Save must fail, too.
//   - Close ends the use of the store by this incarnation of the node.
type Store interface {
	Load() (state []byte, err error)
	Save(state []byte) error
	Close() error
}

// Node is one member of a cluster. Its methods may be called at any time and from any goroutine, with one exception: a
// trace function or a log handler runs on the loop, so it must not call a method that waits for the loop. Config,
// Elector, End, ID, IsLeader, Leader and LeaseRemaining never wait for the loop. A method that waits for the loop also
// waits until Run has started it.
type Node struct {
	config   Config
	spec     algo.Spec
	frames   *wire.Codec
	log      *slog.Logger
	open     func(dir string) (Store, error)
	resolver *resolver
	endpoint *tlsauth.Endpoint // authenticates peers; nil without a secret and certificates
	local    net.Addr          // address of the listener
	clock    Clock
	// waitWhilePaused blocks while a simulated process is paused.
	waitWhilePaused func()

	started     atomic.Bool
	leadership  *leadershipState
	watchers    watchers
	events      eventLog
	priority    atomic.Int64  // priority of this node, for debug requests
	debugTurn   chan struct{} // capacity 1: it is full while a debug request is served
	recent      share.Answer[*recentStatus]
	inbox       chan func()     // functions that the loop calls
	loopCtx     context.Context // ends with the loop
	stopLoop    func()          // ends loopCtx
	ready       chan struct{}   // closed when net is set
	hello       atomic.Pointer[wire.Hello]
	view        atomic.Pointer[algo.View]        // view of the engine, for handshakes
	cert        atomic.Pointer[tlsauth.Identity] // certificate of this node; nil if there is none, or it is not yet read
	limitedLog  loglimit.Logger                  // log for errors that peers may cause at will
	warnings    warnings
	budgets     budgets         // limits for what peers may cost
	limitedInfo loglimit.Logger // log for requests of clients; a separate limit, so that errors do not displace them

	// The rest belongs to Run and its loop.
	ctx            context.Context // argument of Run
	self           algo.Member
	startTime      time.Time
	clockBase      time.Duration          // clock.Now() at startTime
	setAlarm       func(at time.Duration) // sets the alarm that calls expireLease
	leaseEnd       time.Duration          // end of this node's leadership by its lease; 0 for none
	workPending    bool                   // the algorithm waits for the report that the Lead callbacks have returned
	engine         *engine.Engine
	net            *transport.Transport
	records        *records
	frame          []byte                 // buffer for encoding
	peers          map[algo.NodeID]*peer  // connected nodes
	peerMeta       map[algo.NodeID]string // metadata of members
	met            bool                   // a member was connected in this incarnation
	isPair         bool                   // the cluster has two members, which need each other
	duplicateSince time.Time              // time at which a member last stated that another process has this node's ID
	lastElection   algo.ElectionCause     // cause of the last election
	lastElectionAt time.Time
	saves          uint64
	sender         algo.NodeID             // sender of the message that the loop handles; zero for another input
	cost           int                     // units that this message has cost: see budget
	saveTime       time.Duration           // duration of all saves together
	slowest        atomic.Pointer[saveRun] // the running save, or the last slow one; nil if there is none
	failed         error                   // reason why the loop must end
	operations     []*operation
	dialResults    map[string]string // result of the last dial to each address of the settings
	nextWaitLog    time.Duration     // time of the next log line about waiting; 0 while the node waits for no member
	lastWaitLog    time.Duration     // time of the last log line about waiting
}

// New returns a node that is not started. The error contains all problems of the configuration, each as an
// [*algo.SettingError], and the error of Config.Algorithm as it is.
func New(c Config) (*Node, error) {
	spec, err := c.applyDefaults()
	door, wrong := c.newEndpoint()
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	n := &Node{
		config:          c,
		spec:            spec,
		log:             c.Logger,
		open:            openData,
		endpoint:        door,
		clock:           c.Network.Clock,
		waitWhilePaused: func() {},
		leadership:      newLeadershipState(),
		debugTurn:       make(chan struct{}, 1),
		inbox:           make(chan func(), batch),
		ready:           make(chan struct{}),
		peers:           make(map[algo.NodeID]*peer),
		peerMeta:        make(map[algo.NodeID]string),
		dialResults:     make(map[string]string),
	}
	n.loopCtx, n.stopLoop = context.WithCancel(context.Background())
	n.limitedLog.To, n.limitedInfo.To = n.log, n.log
	if n.frames, err = wire.NewCodec(append(append(engine.Messages(), wire.Hello{}), spec.Messages...)...); err != nil {
		return nil, err
	}
	if _, err := wire.HelloCodec.Append(nil, n.newHello(algo.NodeID{}, c.Advertise)); err != nil {
		return nil, fmt.Errorf("cluster: algorithm %s: %w", spec.Name, err) // its name or its settings
	}
	return n, nil
}

// Config returns the configuration in effect, with defaults. Advertise stays empty if the system chooses the port: see
// Members.
func (n *Node) Config() Config { return n.config }

// Run runs the node until ctx ends, or the node has left the cluster (see Leave), or it must stop. It returns nil in
// the first two cases. Otherwise the error is ErrSaveFailed, ErrRemoved, ErrJoinRejected, ErrDuplicateID,
// ErrListenerClosed, or the reason why the node could not start.
//
// When ctx ends, the contexts of Lead callbacks end at once, even while a save hangs. The node stays leader for the
// other members until the callbacks have returned, at most for Config.DrainTimeout, and then says goodbye. So the
// callbacks of the next leader do not overlap with them. Run waits for the callbacks, for a save, and then for at most
// half a second.
//
// When Run returns, no goroutine, socket or open file of the node is left. One exception: a file system that does not
// answer when Run opens the data directory keeps one goroutine. Run can be called once.
func (n *Node) Run(ctx context.Context) (err error) {
	if n.started.Swap(true) {
		return ErrAlreadyStarted
	}
	defer n.stopLoop()
	n.ctx = ctx
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	background.Go(func() {
		<-ctx.Done() // at once, even if the loop waits for a save
		n.leadership.endLeadership(ErrStopped, true)
	})
	defer background.Wait()
	defer cancel()
	kept, err := n.openStore(ctx)
	switch {
	case err != nil && errors.Is(err, context.Cause(ctx)):
		return nil // a clean stop, while the file system did not answer
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	n.records = newRecords(kept, n.config.DataDir)
	self, saved, err := n.records.load(n.config.Cluster)
	if err != nil {
		return err
	}
	if !n.waitOutGrant(ctx, saved) {
		return nil
	}
	listener, err := n.config.Network.listen()(n.config.Listen)
	if err != nil {
		return fmt.Errorf("cluster: listen on %s: %w", n.config.Listen, err)
	}
	if err := n.checkListenAddr(listener); err != nil {
		return errors.Join(err, listener.Close())
	}
	if p, ok := listener.(simnet.Pauser); ok {
		n.waitWhilePaused = func() { p.WaitWhilePaused(simnet.Turn{}) }
	}
	addr := n.config.Advertise
	if addr == "" {
		addr = listener.Addr().String() // the port was 0
	}
	n.newEngine(self, addr, saved)
	alarm, silence, err := n.clock.NewTimer(n.expireLease)
	if err != nil {
		return err
	}
	defer silence()
	n.setAlarm = alarm
	if n.config.TLS.Cert != "" {
		background.Go(func() { n.watchCertificate(ctx) })
	}
	if n.net, err = n.startTransport(watchedListener{listener, n}); err != nil {
		return err
	}
	background.Go(func() { n.serveWatchers(ctx) })
	close(n.ready)
	n.log.Info("started", "node", n.self.Name, "id", n.self.ID, "addr", n.self.Addr, "cluster", n.config.Cluster, "algorithm", n.spec.Name)
	if n.config.Lease.IsOff() {
		n.log.Warn("lease is off", "effect", lease.GivenUp(n.spec.Claims))
	}
	if err = n.loop(ctx); errors.Is(err, ErrLeft) {
		n.log.Info("left the cluster", "node", n.self.Name)
		return nil
	}
	about := []any{"node", n.self.Name}
	if err != nil {
		about = append(about, "error", err)
	}
	n.log.Info("stopped", about...)
	return err
}

func openData(dir string) (Store, error) {
	s, err := store.Open(dir)
	if err != nil {
		return nil, err // and not a Store that holds nil
	}
	return s, nil
}

// openStore returns the cause of ctx if ctx ends before the data directory answers.
func (n *Node) openStore(ctx context.Context) (Store, error) {
	switch {
	case n.config.Store != nil:
		return n.config.Store, nil
	case n.config.DataDir != "":
		open := func() (Store, error) { return n.open(n.config.DataDir) }
		return disk.Await(ctx, open, func(late Store) { _ = late.Close() })
	}
	n.log.Warn("no data directory: a restart makes this a new member")
	return store.NewMemory(), nil
}

// waitOutGrant delays the start of a node that had a lease in its previous run and has none now, until its grant of
// that run has expired. Otherwise it could vote for another leader too early. It reports false if ctx ends first.
func (n *Node) waitOutGrant(ctx context.Context, saved []algo.Message) bool {
	var promised time.Duration
	for _, record := range saved {
		if kept, ok := record.(engine.SavedState); ok && n.config.Lease.IsOff() && strings.HasSuffix(kept.Algorithm, lease.Suffix) {
			promised = lease.GrantedFor(kept.Extra)
		}
	}
	if promised > 0 {
		n.log.Info("delaying start until a lease grant of the previous run has expired", "for", promised)
	}
	select {
	case <-time.After(promised):
		return true
	case <-ctx.Done():
		return false
	}
}

// watchedListener stops the node when the listener is closed.
type watchedListener struct {
	net.Listener
	*Node
}

func (e watchedListener) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if errors.Is(err, net.ErrClosed) {
		e.enqueue(func() { e.failed = fmt.Errorf("%w: %w", ErrListenerClosed, err) })
	}
	return c, err
}

// newEngine creates the engine.
func (n *Node) newEngine(own identity, addr string, saved []algo.Message) {
	c := &n.config
	n.startTime, n.lastWaitLog = time.Now(), -waitLogInterval
	if n.clock == nil {
		n.clock = runtimeClock(n.startTime)
		if !c.Lease.IsOff() {
			n.clock = bootClock(n.startTime)
		}
	}
	n.clockBase, n.leadership.clock = n.clock.Now(), n.now
	n.self = algo.Member{ID: own.ID, Name: c.Name, Addr: addr, Priority: c.Priority, Eligible: !c.Witness}
	n.engine = engine.New(engine.Config{
		MemberConfig: engine.MemberConfig{
			Self: n.self, Cluster: newClusterID(c, n.spec.Claims.NeedsQuorum, saved),
			Join: c.Join, Bootstrap: c.Bootstrap, List: n.resolveListen(c.Members), RemoveSuspectedAfter: c.RemoveSuspectedAfter,
		},
		Timing: c.Timing, Spec: n.spec, Detector: fd.New(c.Timing), Trace: n.observeEngine,
		Pick: func(least, most time.Duration) time.Duration { return least + rand.N(most-least+1) },
	}, saved...)
	n.priority.Store(int64(c.Priority))
	view := n.engine.View()
	n.view.Store(&view)
	hello := n.newHello(own.ID, addr)
	hello.Incarnation = uint64(own.Starts)<<32 | uint64(rand.Uint32())
	n.hello.Store(&hello)
	n.handleMeta(own.ID, hello.Meta)
}

// resolveListen returns members with the address of this node instead of an entry that equals Config.Listen.
func (n *Node) resolveListen(members []string) []string {
	members = slices.Clone(members)
	if i := slices.Index(members, canonical(n.config.Listen)); i >= 0 && n.config.Advertise == "" {
		members[i] = n.self.Addr
	}
	return members
}

func (n *Node) newHello(id algo.NodeID, addr string) wire.Hello {
	meta, _ := encodeMeta(n.config.Meta)
	return wire.Hello{
		MinVersion: wire.MinVersion, MaxVersion: wire.Version,
		Cluster: n.config.Cluster, Algorithm: n.spec.Name,
		Settings: wire.Settings(n.spec.Settings), Name: n.config.Name, ID: id, Addr: addr,
		Members: wire.Members(n.config.Members), Meta: meta,
	}
}

func (n *Node) startTransport(listener net.Listener) (*transport.Transport, error) {
	n.resolver = newResolver(n.config.Network.Lookup, n.config.Network.Dial, func(addr string, found []string) {
		n.enqueue(func() { n.perform(n.engine.HandleResolved(n.now(), addr, found)) })
	})
	o := transport.Options{
		Self: n.self.ID, Incarnation: n.hello.Load().Incarnation, Listener: listener, Dial: n.resolver.dial,
		Handshake: n.handshake, Handler: (*handler)(n), Log: n.log,
		MaxPeers: maxMembers, MaxHello: wire.MaxHello, DialTimeout: algo.DialTimeout,
	}
	if n.endpoint != nil {
		o.Security = n.secureConn
		if !n.config.KeepConnections {
			o.Credentials = n.endpoint
		}
	}
	return transport.New(o)
}

// now returns the time of the engine.
func (n *Node) now() time.Duration { return n.clock.Now() - n.clockBase }

// enqueue passes f to the loop, which calls it, unless the loop has ended. enqueue waits while the inbox is full. The
// transport calls each handler on the goroutine of one connection, so that wait delays only one peer.
func (n *Node) enqueue(f func()) {
	select {
	case n.inbox <- f:
	case <-n.loopCtx.Done():
	}
}

// Campaign starts an election. Each member may start one. Campaign does not wait for the outcome: see Watch. Its error
// is context.Cause(ctx), ErrStopped, or an ErrSaveFailed that stops the node.
func (n *Node) Campaign(ctx context.Context) error {
	return n.runOperation(ctx, func() (*operation, error) {
		n.perform(n.engine.Campaign(n.now()))
		return nil, n.failed
	})
}

// SetPriority changes the priority of this member until its next start. Bully and ring then elect the highest member.
// SetPriority returns when this node uses the new priority; the other members learn of it. Its error is an
// *algo.SettingError for a number of more than 32 bits, context.Cause(ctx), ErrStopped, or an ErrSaveFailed that stops
// the node.
func (n *Node) SetPriority(ctx context.Context, priority int) error {
	return n.runOperation(ctx, func() (*operation, error) {
		_, err := n.startSetPriority(priority)
		return nil, err
	})
}

// Resign gives up the leadership. The contexts of Lead callbacks end. When the callbacks have returned, or after
// Config.DrainTimeout, this node is ineligible for the period, and another member is elected. A period of zero stands
// for Timing.RecoveryBound. Resign returns nil when another member leads, or at once if this node does not lead.
//
// The error is ErrNoEligibleMember, if nothing has changed, or an error that no other member leads at the end of the
// period, context.Cause(ctx), ErrStopped, or an ErrSaveFailed that stops the node. The end of ctx does not cancel the
// resignation. So a Lead callback may call Resign with its own context: the context ends at once, and the node hands
// over when the callback returns.
func (n *Node) Resign(ctx context.Context, period time.Duration) error {
	return n.runOperation(ctx, func() (*operation, error) { return n.startResign(period) })
}
