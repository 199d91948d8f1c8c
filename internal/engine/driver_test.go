package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/trace"
)

func TestMain(m *testing.M) {
	testkit.CollectLess()
	m.Run()
}

const (
	ms       = time.Millisecond
	hop      = ms // one way
	interval = 50 * ms
	timeout  = 340 * ms
)

func id(i int) algo.NodeID { return algo.NodeID{14: byte(i >> 8), 15: byte(i)} }

func addr(i int) string { return fmt.Sprintf("10.0.0.%d:7400", i) }

func detection() algo.Timing {
	return algo.Timing{
		Heartbeat: interval, Timeout: timeout, MaxTimeout: 10 * timeout, TimeoutDecay: time.Minute,
		MinRedial: 10 * ms, MaxRedial: time.Second, RoundTrip: 20 * ms, StartupWait: 2 * timeout,
	}
}

func bullySpec() algo.Spec {
	spec, err := bully.New(bully.Defaults(algo.Timing{RoundTrip: 20 * ms, Heartbeat: interval}))
	if err != nil {
		panic(err)
	}
	return spec
}

func voteSpec() algo.Spec {
	spec, err := vote.New(vote.Defaults(algo.Timing{RoundTrip: 20 * ms, Heartbeat: interval}))
	if err != nil {
		panic(err)
	}
	return spec
}

func testMember(i int) algo.Member {
	return algo.Member{ID: id(i), Name: fmt.Sprintf("n%d", i), Addr: addr(i), Eligible: true}
}

// frames is the codec of all messages, records that of all saved records.
var (
	frames  = codec(slices.Concat(Messages(), bullySpec().Messages, voteSpec().Messages)...)
	records = codec(Records()...)
)

func codec(messages ...algo.Message) *wire.Codec {
	c, err := wire.NewCodec(messages...)
	if err != nil {
		panic(err)
	}
	return c
}

// world drives engines in virtual time: processes that listen, connections between them that keep the order, and a
// delay for each hop. If log is set, each output is logged as bytes.
type world struct {
	t      testing.TB
	now    time.Duration
	random *rand.Rand
	nodes  []*host
	queue  []event
	made   int
	cut    map[[2]string]bool // pairs of node names; no frame passes between the two
	noDial map[[2]string]bool // pairs of node names; the first cannot dial the second
	alias  map[string]string  // other names of addresses

	kinds map[string]int   // frames sent, by kind
	log   *strings.Builder // may be nil
	wakes int
}

// host is one process. A crash leaves its disk.
type host struct {
	w           *world
	config      Config
	engine      *Engine
	up          bool
	paused      bool
	waiting     []func() // inputs that arrived during a pause
	incarnation uint64
	disk        map[string]algo.Message
	links       map[algo.NodeID]int // index of the open connection to each peer
	dialing     map[Target]bool
	queued      map[algo.NodeID][]algo.Message // messages that wait for the end of a dial
	addrs       map[algo.NodeID]string
	out         []Output // all of them, copied
	leader      algo.Leader
	rejected    string
	removed     bool
	saves       int
	dieAtSave   int // number of saves until the process crashes, between the save and its sends; 0 for never
}

type event struct {
	at   time.Duration
	made int
	do   func()
}

func newWorld(t testing.TB) *world {
	return &world{t: t, random: rand.New(rand.NewPCG(1, 2)), cut: map[[2]string]bool{}, noDial: map[[2]string]bool{}, alias: map[string]string{}, kinds: map[string]int{}}
}

func (w *world) after(wait time.Duration, do func()) {
	w.made++
	e := event{w.now + wait, w.made, do}
	at, _ := slices.BinarySearchFunc(w.queue, e, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.made, b.made))
	})
	w.queue = slices.Insert(w.queue, at, e)
}

// complete makes a node without seeds and list the only member of a cluster.
func (c *Config) complete() {
	switch {
	case len(c.Join)+len(c.List) > 0:
	case c.Spec.Claims.NeedsQuorum:
		c.Bootstrap = true
	default:
		c.List = []string{c.Self.Addr}
	}
}

// add adds a node that has not started.
func (w *world) add(m algo.Member, change func(*Config)) *host {
	h := &host{w: w, disk: map[string]algo.Message{}}
	h.config = Config{MemberConfig: MemberConfig{Self: m, Cluster: algo.NodeID{0: 99, 15: m.ID[15]}}, Timing: detection(), Spec: bullySpec()}
	if change != nil {
		change(&h.config)
	}
	h.config.complete()
	w.nodes = append(w.nodes, h)
	return h
}

func joins(addrs ...string) func(*Config) { return func(c *Config) { c.Join = addrs } }

func bootstraps(addrs ...string) func(*Config) {
	return func(c *Config) { c.Join, c.Bootstrap = addrs, true }
}

// listed returns a change that sets the list of a node to n1, n2 and so on, up to size.
func listed(size int) func(*Config) { return withList(addrs(size)...) }

func withList(list ...string) func(*Config) {
	return func(c *Config) { c.Cluster, c.List = algo.NodeID{0: 98}, list }
}

func addrs(size int) (list []string) {
	for i := range size {
		list = append(list, addr(i+1))
	}
	return list
}

// by returns a change that sets the algorithm of a node, and then makes other changes.
func by(spec algo.Spec, changes ...func(*Config)) func(*Config) {
	return func(c *Config) {
		c.Spec = spec
		for _, change := range changes {
			if change != nil {
				change(c)
			}
		}
	}
}

// start starts a process with the records on its disk.
func (h *host) start() *host {
	var saved []algo.Message
	for _, kind := range slices.Sorted(maps.Keys(h.disk)) {
		saved = append(saved, h.copy(records, h.disk[kind]))
	}
	h.w.made++
	h.incarnation, h.up = uint64(h.w.made), true
	h.links, h.dialing = map[algo.NodeID]int{}, map[Target]bool{}
	h.queued, h.addrs, h.leader = map[algo.NodeID][]algo.Message{}, map[algo.NodeID]string{}, algo.Leader{}
	c := h.config
	c.Detector = fd.New(detection())
	c.Pick = func(least, most time.Duration) time.Duration {
		return least + time.Duration(h.w.random.Int64N(int64(most-least)+1))
	}
	h.engine = New(c, saved...)
	h.perform(h.engine.Start(h.w.now))
	return h
}

func (h *host) copy(c *wire.Codec, m algo.Message) algo.Message {
	b, err := c.Append(nil, m)
	if err != nil {
		h.w.t.Fatalf("%s cannot be encoded: %v", m.Kind(), err)
	}
	again, err := c.Decode(b)
	if err != nil {
		h.w.t.Fatalf("%s cannot be decoded: %v", m.Kind(), err)
	}
	return again
}

// perform performs the effects of an output, in order. It checks that a save has no two records of one kind.
func (h *host) perform(out *Output) {
	h.w.record(h, out)
	h.out = append(h.out, Output{Save: slices.Clone(out.Save), Send: slices.Clone(out.Send), Rejections: slices.Clone(out.Rejections),
		Leaders: slices.Clone(out.Leaders), ViewChanged: out.ViewChanged, End: out.End})
	if len(out.Save) > 0 {
		h.saves++
		seen := map[string]bool{}
		for _, m := range out.Save {
			if seen[m.Kind()] {
				h.w.t.Errorf("two records %q in one save", m.Kind())
			}
			seen[m.Kind()] = true
			h.disk[m.Kind()] = h.copy(records, m)
		}
		if h.dieAtSave--; h.dieAtSave == 0 {
			h.crash()
			return
		}
	}
	if out.ViewChanged {
		clear(h.addrs)
		for m := range h.engine.View().All() {
			h.addrs[m.ID] = m.Addr
		}
	}
	for _, target := range out.Dial {
		h.dial(target)
	}
	for _, e := range out.Send {
		h.send(e.To, e.Message)
	}
	for _, r := range out.Rejections {
		h.disconnect(r.Peer)
	}
	for _, l := range out.Leaders {
		h.leader = l
	}
	if out.End != nil {
		rejected, isRejected := errors.AsType[*membership.RejectedError](out.End)
		h.removed = h.removed || !isRejected
		if isRejected {
			h.rejected = cmp.Or(h.rejected, rejected.Reason)
		}
		h.crash() // the engine has ended
	}
}

// record encodes all messages and records of an output, and logs them if log is set.
func (w *world) record(h *host, out *Output) {
	var line []byte
	encode := func(c *wire.Codec, m algo.Message) {
		var err error
		if line, err = c.Append(line, m); err != nil {
			w.t.Fatalf("%s sends what cannot be encoded: %v", h.config.Self.Name, err)
		}
	}
	for _, m := range out.Save {
		encode(records, m)
	}
	for _, e := range out.Send {
		encode(frames, e.Message)
	}
	if w.log != nil {
		fmt.Fprintf(w.log, "%v %s %x ", w.now, h.config.Self.Name, line)
		fmt.Fprintln(w.log, out.Dial, out.Rejections, out.Leaders, out.ViewChanged, out.End)
	}
}

func (w *world) listener(addr string) *host {
	for _, h := range w.nodes {
		if h.up && h.config.Self.Addr == cmp.Or(w.alias[addr], addr) {
			return h
		}
	}
	return nil
}

func (w *world) find(node algo.NodeID) *host {
	for _, h := range w.nodes {
		if h.up && h.config.Self.ID == node {
			return h
		}
	}
	return nil
}

// tell passes an input to a process, after a pause if it is paused. If the incarnation has ended, the input is lost.
func (h *host) tell(incarnation uint64, input func()) {
	if !h.up || h.incarnation != incarnation {
		return
	}
	if h.paused {
		h.waiting = append(h.waiting, func() { h.tell(incarnation, input) })
		return
	}
	input()
}

func (w *world) isCut(a, b *host) bool {
	return w.cut[[2]string{a.config.Self.Name, b.config.Self.Name}] || w.cut[[2]string{b.config.Self.Name, a.config.Self.Name}]
}

// dial dials a target. An answer takes two hops: there and back.
func (h *host) dial(target Target) {
	if _, connected := h.links[target.ID]; h.dialing[target] || connected && !target.ID.IsZero() {
		return
	}
	h.dialing[target] = true
	me := h.incarnation
	fail := func(fact fd.DialResult) {
		h.tell(me, func() {
			delete(h.dialing, target)
			delete(h.queued, target.ID)
			h.perform(h.engine.HandleDialFailure(h.w.now, target, fact))
		})
	}
	h.w.after(hop, func() {
		peer := h.w.listener(target.Addr)
		switch {
		case peer == nil:
			h.w.after(hop, func() { fail(fd.DialRefused) })
		case h.w.isCut(h, peer) || peer.paused || h.w.noDial[[2]string{h.config.Self.Name, peer.config.Self.Name}]:
			h.w.after(10*timeout, func() { fail(fd.DialTimeout) })
		case peer == h:
			h.w.after(hop, func() {
				h.tell(me, func() {
					delete(h.dialing, target)
					h.perform(h.engine.HandleReached(h.w.now, target.Addr, h.config.Self.ID))
				})
			})
		case !h.engine.Cluster().IsZero() && !peer.engine.Cluster().IsZero() && h.engine.Cluster() != peer.engine.Cluster(),
			!target.ID.IsZero() && peer.config.Self.ID != target.ID:
			h.w.after(hop, func() { fail(fd.DialTimeout) })
		default:
			if target.ID.IsZero() { // as in the live cluster, also if a connection exists
				h.w.after(hop, func() {
					h.tell(me, func() { h.perform(h.engine.HandleReached(h.w.now, target.Addr, peer.config.Self.ID)) })
				})
			}
			h.w.connect(h, peer, target.Addr)
			delete(h.dialing, target)
		}
	})
}

// connect creates a connection. Both engines receive Up a hop later.
func (w *world) connect(a, b *host, addr string) {
	if _, stands := a.links[b.config.Self.ID]; stands || !a.up || !b.up {
		return
	}
	w.made++
	link := w.made
	for _, side := range [][2]*host{{a, b}, {b, a}} {
		self, peer := side[0], side[1]
		me, it, digest, dialed := self.incarnation, peer.incarnation, peer.engine.Digest(), ""
		if self == a {
			dialed = addr
		}
		self.links[peer.config.Self.ID] = link
		w.after(hop, func() {
			self.tell(me, func() {
				if self.links[peer.config.Self.ID] != link {
					return
				}
				waiting := self.queued[peer.config.Self.ID]
				delete(self.queued, peer.config.Self.ID)
				for _, m := range waiting {
					self.send(peer.config.Self.ID, m)
				}
				self.perform(self.engine.Up(w.now, Peer{ID: peer.config.Self.ID, Name: peer.config.Self.Name, Incarnation: it, Digest: digest, Addr: peer.config.Self.Addr, Dialed: dialed}))
			})
		})
	}
}

// send does not wait for a dial. It dials a member that is not connected.
func (h *host) send(to algo.NodeID, m algo.Message) {
	w := h.w
	w.kinds[m.Kind()]++
	link, connected := h.links[to]
	if !connected {
		if target, known := h.addrs[to]; known {
			h.queued[to] = append(h.queued[to], h.copy(frames, m))
			h.dial(Target{ID: to, Addr: target})
		}
		return
	}
	m = h.copy(frames, m)
	from := h.config.Self.ID
	peer := w.find(to)
	if peer == nil || w.isCut(h, peer) {
		return
	}
	it := peer.incarnation
	w.after(hop, func() {
		peer.tell(it, func() {
			if peer.links[from] == link {
				peer.perform(peer.engine.Receive(w.now, from, m))
			}
		})
	})
}

// disconnect ends a connection after the frames that were sent on it have arrived.
func (h *host) disconnect(from algo.NodeID) {
	peer := h.w.find(from)
	if peer == nil || h.links[from] == 0 {
		return
	}
	h.w.after(hop/2, func() { h.w.drop(h, peer, false) })
}

// drop ends a connection.
func (w *world) drop(a, b *host, graceful bool) {
	for _, side := range [][2]*host{{a, b}, {b, a}} {
		self, peer := side[0], side[1]
		link, stands := self.links[peer.config.Self.ID]
		if !self.up || !stands {
			continue
		}
		me := self.incarnation
		w.after(hop/2, func() {
			self.tell(me, func() {
				if self.links[peer.config.Self.ID] == link {
					delete(self.links, peer.config.Self.ID)
					self.perform(self.engine.Down(w.now, peer.config.Self.ID, graceful))
				}
			})
		})
	}
}

// crash ends a process as SIGKILL does: its kernel closes its connections.
func (h *host) crash() { h.end(false) }

// stop ends a process as SIGTERM does.
func (h *host) stop() {
	h.perform(h.engine.Stop(h.w.now))
	h.w.run(2 * hop)
	h.end(true)
}

func (h *host) end(graceful bool) {
	h.up, h.paused, h.waiting = false, false, nil
	for _, peer := range h.w.nodes {
		if peer.up && peer != h {
			h.w.drop(peer, h, graceful)
		}
	}
}

// resume ends a pause. The waiting inputs come before any deadline that has passed.
func (h *host) resume() {
	h.paused = false
	waiting := h.waiting
	h.waiting = nil
	for _, input := range waiting {
		input()
	}
}

// run advances the time. At equal times, events come before deadlines, in the order in which they were created.
func (w *world) run(period time.Duration) {
	w.t.Helper()
	end := w.now + period
	for steps := 0; ; steps++ {
		next := end + 1
		if len(w.queue) > 0 {
			next = min(next, w.queue[0].at)
		}
		for _, h := range w.nodes {
			if deadline, due := h.deadline(); due {
				next = min(next, max(deadline, w.now))
			}
		}
		if next > end {
			w.now = end
			return
		}
		w.now = next
		if steps > 3_000_000 {
			w.t.Fatalf("no end of work at %v", w.now)
		}
		if len(w.queue) > 0 && w.queue[0].at <= w.now {
			do := w.queue[0].do
			w.queue = slices.Delete(w.queue, 0, 1)
			do()
			continue
		}
		for _, h := range w.nodes {
			if deadline, due := h.deadline(); due && deadline <= w.now {
				w.wakes++
				h.perform(h.engine.Wake(w.now))
				if deadline, due := h.deadline(); due && deadline <= w.now {
					w.t.Fatalf("%s was woken at %v and wants to be woken at %v", h.config.Self.Name, w.now, deadline)
				}
			}
		}
	}
}

func (h *host) deadline() (time.Duration, bool) {
	if !h.up || h.paused {
		return 0, false
	}
	return h.engine.Deadline()
}

// wantLeader fails unless all nodes that run, and are not paused, follow n<i>.
func (w *world) wantLeader(i int) {
	w.t.Helper()
	for _, h := range w.nodes {
		if h.up && !h.paused && h.leader.ID != id(i) {
			w.t.Errorf("%v: %s follows %v, want n%d", w.now, h.config.Self.Name, h.leader, i)
		}
	}
}

// wantView fails unless all live nodes have these members, and the same digest.
func (w *world) wantView(members ...int) {
	w.t.Helper()
	var want []algo.NodeID
	for _, i := range members {
		want = append(want, id(i))
	}
	slices.SortFunc(want, algo.NodeID.Compare)
	var digest uint64
	for _, h := range w.nodes {
		if !h.up {
			continue
		}
		var got []algo.NodeID
		for m := range h.engine.View().All() {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, want) {
			w.t.Errorf("%v: the members of %s are %v, want %v", w.now, h.config.Self.Name, got, want)
		}
		if digest == 0 {
			digest = h.engine.Digest()
		}
		if h.engine.Digest() != digest {
			w.t.Errorf("%v: %s has another digest", w.now, h.config.Self.Name)
		}
	}
}

// rejections returns the number of messages and connections that the nodes have rejected.
func (w *world) rejections() (sum uint64) {
	for _, h := range w.nodes {
		if h.engine != nil {
			sum += h.engine.Counters()["rejected"]
		}
	}
	return sum
}

// newCluster returns a cluster 3 s after its start: see startCluster.
func newCluster(t testing.TB, spec algo.Spec, size int) *world {
	w := newWorld(t)
	w.startCluster(spec, size)
	w.run(3 * time.Second)
	return w
}

// startCluster starts nodes, all at once, and returns their numbers. Without a quorum they have the same list. With a
// quorum the first bootstraps a cluster, and the others join through it.
func (w *world) startCluster(spec algo.Spec, size int) (all []int) {
	for i := 1; i <= size; i++ {
		settings := listed(size)
		switch {
		case !spec.Claims.NeedsQuorum:
		case i == 1:
			settings = nil
		default:
			settings = joins(addr(1))
		}
		w.add(testMember(i), by(spec, settings)).start()
		all = append(all, i)
	}
	return all
}

// enlarge starts one more node. With a quorum it joins. Without a quorum all nodes receive a list with it.
func (w *world) enlarge(i int) *host {
	config := w.node(1).config
	if config.Spec.Claims.NeedsQuorum {
		return w.add(testMember(i), by(config.Spec, joins(addr(1), addr(2)))).start()
	}
	list := append(slices.Clone(config.List), addr(i))
	for _, h := range w.nodes {
		h.setMembers(list)
	}
	return w.add(testMember(i), by(config.Spec, withList(list...))).start()
}

// setMembers replaces the list of a node, also of one that is down.
func (h *host) setMembers(list []string) {
	h.w.t.Helper()
	h.config.List = list
	if !h.up {
		return
	}
	out, err := h.engine.SetMembers(h.w.now, list)
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.perform(out)
}

// cutOff cuts node i off from all others, except for the nodes in but.
func (w *world) cutOff(i int, but ...int) {
	for j := range w.nodes {
		if i != j+1 && !slices.Contains(but, j+1) {
			w.cut[[2]string{w.nodes[i-1].config.Self.Name, w.nodes[j].config.Self.Name}] = true
		}
	}
}

// node returns the i-th node.
func (w *world) node(i int) *host { return w.nodes[i-1] }

// remove requests the removal of node i at another node, as an operator would.
func (w *world) remove(at, i int) error {
	out, err := w.node(at).engine.Remove(w.now, id(i))
	if err == nil {
		w.node(at).perform(out)
	}
	return err
}

// solo returns an engine without a driver. The test steps it.
func solo(t testing.TB, change func(*Config), saved ...algo.Message) *Engine {
	c := Config{
		MemberConfig: MemberConfig{Self: testMember(1), Cluster: algo.NodeID{0: 99}}, Timing: detection(), Spec: bullySpec(), Detector: fd.New(detection()),
		Pick: func(least, _ time.Duration) time.Duration { return least },
	}
	c.Timing.StartupWait = 0
	if change != nil {
		change(&c)
	}
	c.complete()
	return New(c, saved...)
}

// met returns the engine of n1, without a driver, which has met all other nodes of its list, and the output of the last
// meeting, in which its algorithm started.
func met(t testing.TB, size int, change func(*Config), saved ...algo.Message) (*Engine, *Output) {
	e := solo(t, func(c *Config) {
		c.Timing.StartupWait = time.Second
		listed(size)(c)
		if change != nil {
			change(c)
		}
	}, saved...)
	out := e.Start(0)
	for i := 2; i <= size; i++ {
		out = e.meet(0, i)
	}
	if _, running := e.Leader(); !running {
		t.Fatal("it has met all others, and does not run")
	}
	return e, out
}

// meet connects node i at its usual address, and delivers its Self.
func (e *Engine) meet(now time.Duration, i int) *Output {
	e.Up(now, Peer{ID: id(i), Name: testMember(i).Name, Incarnation: 7, Digest: e.Digest(), Addr: addr(i)})
	return e.Receive(now, id(i), membership.Self{Member: membership.MemberOf(testMember(i))})
}

func traced(events *[]trace.Event) func(*Config) {
	return func(c *Config) { c.Trace = func(e trace.Event) { *events = append(*events, e) } }
}

// committed returns the record of n1 as a member of a cluster of several members, with a committed config.
func committed(size int) membership.Record {
	c := membership.Config{Cluster: algo.NodeID{0: 99}, ID: membership.ConfigID{Term: 1, Version: 9}, Author: id(1)}
	for i := range size {
		c.Members = append(c.Members, membership.MemberOf(testMember(i+1)))
	}
	return membership.Record{Config: c, Committed: true, WasMember: true}
}
