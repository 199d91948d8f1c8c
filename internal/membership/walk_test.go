package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testenv"
)

const ms = time.Millisecond

func id(i int) algo.NodeID { return algo.NodeID{15: byte(i)} }

func number(id algo.NodeID) int { return int(id[15]) }

func member(i int) algo.Member {
	return algo.Member{ID: id(i), Name: fmt.Sprintf("n%d", i), Addr: fmt.Sprintf("n%d:1", i), Eligible: true}
}

// cluster is some machines with frames between them, and elections as the algorithms hold them:
// each is one step. Frames of one connection keep their order. Who cannot be reached is suspected.
type cluster struct {
	t       *testing.T
	random  *rand.Rand
	now     time.Duration
	quorum  bool
	nodes   []*node
	frames  []frame
	cuts    map[[2]int]bool
	liar    int
	rosters map[algo.Stamp]string
	struck  map[algo.NodeID]algo.Stamp
	broken  string
	story   []string
}

type frame struct {
	from, to, life, other int
	m                     algo.Message
}

// around is what is around a node.
type around interface {
	time() time.Duration
	note(format string, args ...any)
	saved(n *node, r Roster)
	send(n *node, to int, m algo.Message)
	dial(n *node, addr string)
	reaches(n *node, i int) bool
	gone(n *node) // it runs no more
}

// node is a machine and an algorithm, as one that is up or down.
type node struct {
	w      around
	i      int
	config Config
	m      *Machine
	up     bool
	life   int
	runs   bool
	leader algo.Leader
	taken  algo.Epoch // saved
	view   algo.View
	disk   map[string]algo.Message
	links  map[int]bool
	out    []func()
	ended  End
}

func newCluster(t *testing.T, seed uint64, quorum bool, fixed int) *cluster {
	w := &cluster{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), quorum: quorum, cuts: map[[2]int]bool{},
		rosters: map[algo.Stamp]string{}, struck: map[algo.NodeID]algo.Stamp{},
	}
	var addrs []string
	for i := range fixed {
		addrs = append(addrs, member(i+1).Addr)
	}
	for range fixed {
		w.add(func(c *Config) { c.Fixed = addrs })
	}
	return w
}

func (w *cluster) add(change func(*Config)) *node {
	n := &node{w: w, i: len(w.nodes) + 1, disk: map[string]algo.Message{}, m: &Machine{}}
	n.config = Config{
		Place: Place{Self: member(n.i), Cluster: algo.NodeID{0: 9}}, Quorum: w.quorum,
		FirstContact: 700 * ms, Repeat: time.Second, Patience: 8 * time.Second,
	}
	if change != nil {
		change(&n.config)
	}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *cluster) note(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%v ", w.now)+fmt.Sprintf(format, args...))
}

func (w *cluster) breaks(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.note("broken: %s", w.broken)
	}
}

func (w *cluster) node(i int) *node { return w.nodes[i-1] }

func (w *cluster) reach(a, b *node) bool {
	return a.up && b.up && !w.cuts[[2]int{a.i, b.i}] && !w.cuts[[2]int{b.i, a.i}]
}

func (n *node) start() {
	n.life++
	n.up, n.runs, n.leader, n.view, n.links, n.ended = true, false, algo.Leader{}, algo.View{}, map[int]bool{}, End{}
	var saved []algo.Message
	for _, kind := range []string{"view", "owed"} {
		if r, ok := n.disk[kind]; ok {
			saved = append(saved, r)
		}
	}
	n.m = New(n.config, n, saved...)
	n.w.note("n%d starts", n.i)
	n.do(func() { n.m.Start(n.w.time()) })
}

// do has a machine do something, and then what follows.
func (n *node) do(what func()) {
	if !n.up {
		return
	}
	what()
	for n.up {
		n.m.Tend(n.w.time())
		if n.view == n.m.View() && (n.runs || !n.m.Ready(n.w.time())) {
			break
		}
		n.follow()
	}
	n.save()
	out := n.out
	n.out = nil
	for _, do := range out {
		do()
	}
	if n.ended = n.m.End(); n.up && n.ended != (End{}) {
		n.w.note("n%d ends: %+v", n.i, n.ended)
		n.crash()
	}
}

// follow is what every algorithm does with a view.
func (n *node) follow() {
	n.view = n.m.View()
	n.runs = n.runs || n.m.Ready(n.w.time())
	if !n.runs {
		return
	}
	n.taken = max(n.taken, n.view.Floor())
	if !n.leader.Vacant() && (!n.view.MayLead(n.leader.ID) || n.leader.ID == id(n.i) && n.leader.Epoch < n.taken) {
		n.announce(algo.Leader{Epoch: n.taken})
	}
}

func (n *node) announce(l algo.Leader) {
	if n.leader != l {
		n.leader = l
		n.m.Led(n.w.time())
	}
}

func (n *node) save() {
	for _, r := range n.m.Unsaved() {
		n.disk[r.Kind()] = r
		if r, ok := r.(Roster); ok {
			n.w.saved(n, r)
		}
	}
}

func (w *cluster) saved(n *node, r Roster) {
	if w.liar > 0 {
		return
	}
	stamp := r.Stamp()
	w.note("n%d has %s", n.i, show(r))
	if r.Epoch == 0 || !w.quorum {
		return
	}
	text := fmt.Sprint(r.Entries, r.Strikes)
	if first, known := w.rosters[stamp]; known && first != text {
		w.breaks("two rosters %v", stamp)
	}
	w.rosters[stamp] = text
	for _, e := range r.Entries {
		if since, struck := w.struck[e.ID]; struck && since.Compare(stamp) < 0 {
			w.breaks("n%d is a member again", number(e.ID))
		}
	}
	for _, id := range r.Strikes {
		if _, known := w.struck[id]; r.Confirmed && !known {
			w.struck[id] = stamp
		}
	}
}

func show(r Roster) string {
	var text strings.Builder
	fmt.Fprintf(&text, "(%d,%d) of", r.Epoch, r.Number)
	for _, e := range r.Entries {
		fmt.Fprintf(&text, " n%d", number(e.ID))
		if !e.Eligible {
			text.WriteString("-")
		}
	}
	if r.Unmet > 0 {
		fmt.Fprintf(&text, " and %d", r.Unmet)
	}
	for _, id := range r.Strikes {
		fmt.Fprintf(&text, " x%d", number(id))
	}
	if r.Confirmed {
		text.WriteString(" confirmed")
	}
	return text.String()
}

func (n *node) crash() {
	n.up = false
	n.out = nil
	n.w.gone(n)
}

func (w *cluster) gone(n *node) {
	for i := range n.links {
		w.hangUp(n, w.node(i))
	}
}

// hangUp ends a connection.
func (w *cluster) hangUp(a, b *node) {
	delete(a.links, b.i)
	if b.links[a.i] {
		delete(b.links, a.i)
		b.do(func() { b.m.Down(w.now, id(a.i)) })
	}
	if a.up {
		a.do(func() { a.m.Down(w.now, id(b.i)) })
	}
	w.frames = slices.DeleteFunc(w.frames, func(f frame) bool {
		return f.from == a.i && f.to == b.i || f.from == b.i && f.to == a.i
	})
}

func (w *cluster) connect(a, b *node, addr string) {
	a.links[b.i], b.links[a.i] = true, true
	da, db := a.m.Digest(), b.m.Digest()
	b.do(func() { b.m.Up(w.now, id(a.i), uint64(a.life), da, "") })
	if a.up && b.up {
		a.do(func() { a.m.Up(w.now, id(b.i), uint64(b.life), db, addr) })
	}
}

// The machine's host.

func (n *node) Send(to algo.NodeID, m algo.Message) {
	n.out = append(n.out, func() { n.w.send(n, number(to), m) })
}

type shown struct{ digest uint64 }

func (shown) Kind() string { return "beat" }

func (n *node) Show(to algo.NodeID) { n.Send(to, shown{n.m.Digest()}) }

func (w *cluster) send(n *node, to int, m algo.Message) {
	if !n.up || to < 1 || to > len(w.nodes) {
		return
	}
	peer := w.node(to)
	if !n.links[to] && n.m.View().Contains(id(to)) && w.reach(n, peer) {
		w.connect(n, peer, "")
	}
	if n.links[to] {
		w.frames = append(w.frames, frame{n.i, to, n.life, peer.life, m})
	}
}

func (n *node) Dial(_ algo.NodeID, addr string) {
	n.out = append(n.out, func() { n.w.dial(n, addr) })
}

func (w *cluster) dial(n *node, addr string) {
	for _, peer := range w.nodes {
		switch {
		case peer.config.Self.Addr != addr || peer == n:
		case n.links[peer.i]:
		case w.reach(n, peer):
			w.connect(n, peer, addr)
		default:
			why := Silence
			if peer.up {
				why = Pending
			}
			n.do(func() { n.m.Missed(id(peer.i), addr, why) })
		}
	}
}

func (n *node) Refuse(peer algo.NodeID, m algo.Message, why error) {
	n.w.note("n%d refuses %s of n%d: %v", n.i, m.Kind(), number(peer), why)
}

func (n *node) Leader() (algo.Leader, bool, algo.Epoch) { return n.leader, n.runs, n.taken }

func (n *node) Widen()       {}
func (n *node) Backed() bool { return true }

func (n *node) Suspected(of algo.NodeID) (bool, time.Duration) {
	return number(of) != n.i && !n.w.reaches(n, number(of)), 0
}

func (w *cluster) time() time.Duration { return w.now }

func (w *cluster) reaches(n *node, i int) bool { return i <= len(w.nodes) && w.reach(n, w.node(i)) }

// debug has all frames in the story.
var debug bool

// deliver takes the first frame of a connection that is drawn.
func (w *cluster) deliver() {
	if len(w.frames) == 0 {
		return
	}
	f := w.frames[w.random.IntN(len(w.frames))]
	at := slices.IndexFunc(w.frames, func(o frame) bool { return o.from == f.from && o.to == f.to })
	f = w.frames[at]
	w.frames = slices.Delete(w.frames, at, at+1)
	to, from := w.node(f.to), w.node(f.from)
	if !to.up || to.life != f.other || from.life != f.life {
		return
	}
	if debug {
		said := fmt.Sprintf("%+v", f.m)
		if r, ok := f.m.(Roster); ok {
			said = show(r)
		}
		w.note("n%d hears of n%d: %s %s", f.to, f.from, f.m.Kind(), said)
	}
	to.hear(f.from, f.m)
}

func (n *node) hear(from int, said algo.Message) {
	n.do(func() {
		if m, ok := said.(shown); ok {
			n.m.Shown(n.w.time(), id(from), m.digest)
			return
		}
		if !n.m.Receive(n.w.time(), id(from), said) {
			n.m.Spoken(n.w.time(), id(from))
		}
	})
}

// pass lets time go by, and all that is due happen.
func (w *cluster) pass(d time.Duration) {
	end := w.now + d
	for range 20_000 {
		switch {
		case len(w.frames) > 0:
			w.now += ms / 10
			w.deliver()
			continue
		}
		next, who := end, (*node)(nil)
		for _, n := range w.nodes {
			if n.up && n.m.Deadline() < next {
				next, who = max(n.m.Deadline(), w.now), n
			}
		}
		w.now = max(w.now, next)
		if who == nil {
			return
		}
		who.do(func() { who.m.Wake(w.now) })
	}
	w.breaks("it does not come to rest before %v", end)
}

// elect has a node call for an election.
func (w *cluster) elect(n *node) bool {
	return n.elect(w.nodes, w.quorum, w.reach, func(o *node) { // what it says is dropped
		if w.send(n, o.i, Held{}); n.links[o.i] {
			o.do(func() { o.m.Spoken(w.now, id(n.i)) })
		}
	})
}

// elect has a node call for an election among others, and reports whether it leads. Those who do not
// know it drop what it says.
func (n *node) elect(nodes []*node, quorum bool, reach func(a, b *node) bool, drop func(o *node)) bool {
	if !n.up || !n.runs || !n.view.MayLead(id(n.i)) {
		return false
	}
	epoch := n.taken + 1
	for _, o := range nodes {
		if reach(n, o) && n.view.Contains(id(o.i)) && !o.m.View().Contains(id(n.i)) {
			drop(o)
		}
	}
	var followers []*node
	for _, o := range nodes {
		if o != n && o.up && o.runs && reach(n, o) && n.view.Contains(id(o.i)) && o.view.Contains(id(n.i)) {
			followers = append(followers, o)
			if !quorum {
				epoch = max(epoch, o.taken+1)
			}
		}
	}
	if quorum {
		for _, o := range followers {
			if o.taken > epoch {
				n.taken = max(n.taken, o.taken) // it is told, and may try again
			}
			o.do(func() { o.m.Spoken(n.w.time(), id(n.i)) })
		}
		if n.taken > epoch {
			return false
		}
		followers = slices.DeleteFunc(followers, func(o *node) bool {
			refuses := o.taken >= epoch || n.view.Stamp().OlderThan(o.view.Stamp())
			o.taken = max(o.taken, epoch)
			return refuses
		})
	}
	n.taken = epoch
	for _, o := range followers {
		o.taken = epoch
	}
	if quorum && 1+len(followers) < n.view.Quorum() {
		return false
	}
	l := algo.Leader{Epoch: epoch, ID: id(n.i)}
	n.w.note("n%d leads in epoch %d", n.i, epoch)
	for _, o := range append([]*node{n}, followers...) {
		o.do(func() { o.announce(l) })
	}
	return true
}

// leads reports whether those who run follow one who does.
func leads(nodes []*node) bool {
	common := algo.Leader{}
	for _, n := range nodes {
		switch {
		case !n.up || !n.runs:
		case n.leader.Vacant() || !common.Vacant() && n.leader != common || n.taken > n.leader.Epoch:
			return false
		default:
			common = n.leader
		}
	}
	l := number(common.ID)
	return l > 0 && nodes[l-1].up && nodes[l-1].leader == common && nodes[l-1].taken == common.Epoch
}

// calm ends all faults, and lets those who live agree.
func (w *cluster) calm(within time.Duration) {
	clear(w.cuts)
	for _, n := range w.nodes {
		for _, o := range w.nodes {
			if n.i < o.i && w.reach(n, o) && !n.links[o.i] && n.m.View().Contains(id(o.i)) {
				w.connect(n, o, "")
			}
		}
	}
	for end := w.now + within; w.now < end && w.broken == ""; {
		w.pass(100 * ms)
		w.beat()
		if !leads(w.nodes) {
			// The one with the latest view and the highest epoch is soon who can win.
			order := slices.Clone(w.nodes)
			w.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, n := range order {
				if w.elect(n) {
					break
				}
			}
		}
	}
}

// beat has leaders and those who follow them show each other what they know, as heartbeats do.
func (w *cluster) beat() {
	for _, n := range w.nodes {
		if i := number(n.leader.ID); n.up && i > 0 && i != n.i && w.reach(n, w.node(i)) {
			n.Show(n.leader.ID)
			n.do(func() {})
			w.node(i).Show(id(n.i))
			w.node(i).do(func() {})
		}
	}
}

// lost reports whether no majority is left of the latest roster, or nobody where none is needed: so much
// a liar can do.
func lost(nodes []*node, quorum bool) bool {
	var latest Known
	for _, n := range nodes {
		if n.up && n.m.roster.compare(latest) > 0 {
			latest = n.m.roster
		}
	}
	there := 0
	for _, e := range latest.Roster.Entries {
		if i := number(e.ID); i <= len(nodes) && nodes[i-1].up && nodes[i-1].m.View().Contains(e.ID) {
			there++
		}
	}
	return there == 0 || quorum && there < latest.Roster.quorum()
}

// redirect has an operator name who lives to those whom nobody has let in yet. A liar may have had all
// removed whom their configuration names, and then nobody who is left is ever asked.
func (w *cluster) redirect() {
	var members []string
	for _, n := range w.nodes {
		if n.up && !n.m.joining() {
			members = append(members, n.config.Self.Addr)
		}
	}
	for _, n := range w.nodes {
		named := func(addr string) bool { return slices.Contains(members, addr) }
		if n.up && n.m.joining() && len(members) > 0 && !slices.ContainsFunc(n.config.Seeds, named) {
			n.crash()
			n.config.Seeds = members
			n.start()
		}
	}
}

// disagreement says why not all who live hold one roster, or nobody leads; nothing if they do.
func disagreement(nodes []*node) string {
	var first *node
	for _, n := range nodes {
		switch {
		case !n.up:
		case !n.m.View().Contains(id(n.i)):
			return fmt.Sprintf("n%d lives and is in no roster: %s", n.i, show(n.m.roster.Roster))
		case first == nil:
			first = n
		case n.m.Digest() != first.m.Digest():
			return fmt.Sprintf("n%d has %s and n%d %s", first.i, show(first.m.roster.Roster), n.i, show(n.m.roster.Roster))
		}
	}
	if first == nil || !leads(nodes) {
		return "nobody leads"
	}
	return ""
}

// disturb does one thing to one node, or to the network.
func (w *cluster) disturb() {
	n, o := w.nodes[w.random.IntN(len(w.nodes))], w.nodes[w.random.IntN(len(w.nodes))]
	switch k := w.random.IntN(16); {
	case k < 3:
		w.elect(n)
	case k < 5:
		if n.up {
			w.note("n%d crashes", n.i)
			n.crash()
		} else if !n.ended.Removed {
			n.start()
		}
	case k == 5 && !n.up && !n.ended.Removed:
		n.start()
	case k == 6 && len(w.nodes) < 7:
		w.add(func(c *Config) { c.Seeds = []string{member(1).Addr, member(2).Addr} }).start()
	case k == 7 && o.i > 2 && n.up:
		if n.m.Remove(w.now, id(o.i)) == nil {
			w.note("n%d orders the removal of n%d", n.i, o.i)
			n.do(func() {})
		}
	case k == 8 && n.up:
		n.do(func() { n.m.Resign(w.now, time.Duration(w.random.IntN(3000))*ms) })
	case k == 9 && n.up:
		self := n.config.Self
		self.Priority = w.random.IntN(3)
		n.config.Self = self
		n.do(func() { n.m.Restate(w.now, self) })
	case k < 13 && n != o:
		w.note("n%d and n%d are cut", n.i, o.i)
		w.cuts[[2]int{n.i, o.i}] = true
		if n.up && o.up && n.links[o.i] {
			w.hangUp(n, o)
		}
	case k == 13:
		w.note("healed")
		clear(w.cuts)
	case k > 13 && w.liar > 0:
		w.lie(w.node(w.liar), o)
	}
}

// lie has a member say something made up.
func (w *cluster) lie(liar, to *node) {
	if !liar.up || liar == to || !liar.links[to.i] || to.m.roster.meeting() {
		return // whoever meets the others of a fixed set takes anybody's word
	}
	r := liar.m.roster.Roster
	switch w.random.IntN(4) {
	case 0:
		r.Epoch += algo.Epoch(w.random.IntN(3))
	case 1:
		r.Epoch += 1 << 33
	case 2:
		r.Epoch += 1 << 31
	}
	if r.Epoch > 0 {
		r.Number += uint64(w.random.IntN(3))
		r.Number = max(r.Number, 1)
		r.Confirmed = w.random.IntN(2) == 0
	}
	switch victim := id(1 + w.random.IntN(len(w.nodes))); w.random.IntN(3) {
	case 0:
		if victim != id(liar.i) && r.Epoch > 0 {
			r = r.striking(victim)
		}
	case 1:
		if victim != id(liar.i) {
			r = r.without(victim)
		}
	}
	said := []algo.Message{
		r, r, r, Reject{Reason: "go away"}, Held{Epoch: r.Epoch, Number: r.Number}, Stand{Resigned: true},
		Propose{Entry: entryOf(member(1 + w.random.IntN(9)))}, Join{Entry: entryOf(member(9))},
	}[w.random.IntN(8)]
	w.note("n%d lies to n%d: %s %+v", liar.i, to.i, said.Kind(), show(r))
	w.send(liar, to.i, said)
}

func (w *cluster) fail(seed uint64) {
	w.t.Helper()
	for _, n := range w.nodes {
		w.note("n%d up %v runs %v follows n%d in %d of %d, has %s", n.i, n.up, n.runs, number(n.leader.ID), n.leader.Epoch, n.taken, show(n.m.roster.Roster))
	}
	w.t.Fatalf("seed %d, quorum %v: %s\n%s", seed, w.quorum, w.broken, strings.Join(w.story, "\n"))
}

func wander(t *testing.T, seed uint64, quorum, lies bool) *cluster {
	w := newCluster(t, seed, quorum, 3+int(seed%3))
	for _, n := range w.nodes {
		if w.random.IntN(5) > 0 {
			n.start()
		}
	}
	if lies {
		w.liar = len(w.nodes)
	}
	for range 60 {
		if w.broken != "" {
			return w
		}
		w.pass(time.Duration(w.random.IntN(300)) * ms)
		w.disturb()
	}
	for _, n := range w.nodes {
		if !n.up && !n.ended.Removed && n.ended.Rejected == nil {
			n.start()
		}
		if n.up {
			n.m.Withdraw(w.now, algo.NodeID{})
		}
	}
	w.calm(15 * time.Second)
	if lies && w.broken == "" {
		for _, n := range w.nodes {
			if n.i != w.liar && n.up && n.m.Remove(w.now, id(w.liar)) == nil {
				n.do(func() {})
			}
		}
		w.calm(5 * time.Second)
		w.node(w.liar).crash()
		w.redirect()
		w.calm(10 * time.Second)
	}
	if w.broken == "" && !(lies && lost(w.nodes, w.quorum)) {
		if why := disagreement(w.nodes); why != "" {
			w.breaks("%s", why)
		}
	}
	return w
}

// In whatever order things happen, one stamp has one content, who was struck stays struck, and
// once the faults are over all who live hold one roster and somebody leads.
func TestWalks(t *testing.T) {
	seeds := uint64(testenv.Rounds(100, 8_000))
	for seed := range seeds {
		for _, quorum := range []bool{true, false} {
			if w := wander(t, seed, quorum, false); w.broken != "" {
				w.fail(seed)
			}
		}
	}
}

// One member may say what it likes, as long as it is a member. Once it is removed the others agree.
func TestWalksWithALiar(t *testing.T) {
	for seed := range uint64(testenv.Rounds(100, 8_000)) {
		for _, quorum := range []bool{true, false} {
			if w := wander(t, seed, quorum, true); w.broken != "" {
				w.fail(seed)
			}
		}
	}
}
