package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
)

// A calm run continues a world without faults: messages in flight are lost, each later message arrives, and dead nodes
// are suspected. Then all live nodes must agree, and each request must be done.

type envelope struct {
	from, to int
	message  algo.Message
}

type calmRun struct {
	w     *world
	queue []envelope
	steps int
	now   time.Duration
}

// maxCalmSteps bounds a run that does not come to rest.
const maxCalmSteps = 5000

// leader returns the live leader of the highest term; -1 for none.
func (r *calmRun) leader() int {
	best := -1
	for i, n := range r.w.nodes {
		if !n.isDead() && n.leads && (best < 0 || n.term > r.w.nodes[best].term) {
			best = i
		}
	}
	return best
}

func (r *calmRun) step(i int, call func(*Dynamic)) {
	r.steps++
	r.w.stepIn(&testEnv{w: r.w, i: i, n: r.w.nodes[i], suspects: r.w.dead(), calm: r}, call)
	r.w.nodes[i].key = nil
}

func (r *calmRun) deliver() {
	for len(r.queue) > 0 && r.steps < maxCalmSteps {
		e := r.queue[0]
		r.queue = r.queue[1:]
		if e.to < 0 || e.to >= len(r.w.nodes) || r.w.nodes[e.to].isDead() || r.w.nodes[e.to].mute {
			continue
		}
		r.step(e.to, func(m *Dynamic) { m.Receive(r.now, testID(e.from), e.message) })
	}
}

// elect elects the node with the newest config of those that can be elected, unless a leader reaches a quorum.
func (r *calmRun) elect() {
	w := r.w
	alive := ^w.dead()
	top := algo.Epoch(0)
	for _, n := range w.nodes {
		if !n.isDead() {
			top = max(top, n.term, n.m.config.ID.Term)
		}
	}
	for _, n := range w.nodes {
		if n.isDead() || !n.leads {
			continue
		}
		if all := votersOf(n.m.config.Members); (all&alive).size() < all.quorum() || n.term < top {
			n.leads, n.decided, n.granted = false, true, 0
		}
	}
	if l := r.leader(); l >= 0 {
		w.nodes[l].granted = votersOf(w.nodes[l].m.config.Members) & alive
		return
	}
	best := -1
	for i, n := range w.nodes {
		isNewest := best < 0 || n.m.config.ID.Compare(w.nodes[best].m.config.ID) > 0
		if isNewest && r.canElect(i) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	n := w.nodes[best]
	n.leads, n.decided, n.stands, n.term, n.granted = true, true, false, top+1, votersOf(n.m.config.Members)&alive
	for v, o := range w.nodes {
		if v != best && !o.isDead() && o.m.Ready(r.now) && o.m.config.Cluster == n.m.config.Cluster {
			o.term, o.vote, o.decided, o.stands, o.leads, o.claims = top+1, int8(best), true, false, false, 0
		}
	}
}

// canElect reports whether live voters can elect node i.
func (r *calmRun) canElect(i int) bool {
	n := r.w.nodes[i]
	if n.isDead() || n.mute || !n.m.Ready(r.now) || !n.m.IsEligible(testID(i)) {
		return false
	}
	all, votes := votersOf(n.m.config.Members), nodeSet(0)
	for v, o := range r.w.nodes {
		if all.has(v) && !o.isDead() && !o.mute && o.m.Ready(r.now) && r.w.mayVote(o, n) {
			votes |= one(v)
		}
	}
	return votes.size() >= all.quorum()
}

// calm runs w without faults. It returns what is wrong at the end, or a reason why that is allowed.
func (w *world) calm(restart bool) (wrong, excuse string) {
	if w.isEmptied(w.elected) {
		return "", "a quorum of the config of a leader was emptied"
	}
	c := w.clone()
	c.facts = nil
	r := &calmRun{w: c, now: frozen}
	for i := range c.nodes {
		r.prepare(i, restart)
	}
	var last []byte
	quiet := 0
	for round := 0; quiet < 2; round++ {
		r.round()
		state := c.encode(nil)
		quiet++
		if !slices.Equal(state, last) {
			quiet = 0
		}
		last = state
		if round > 40 || r.steps >= maxCalmSteps {
			return fmt.Sprintf("the nodes do not come to rest in %d steps", r.steps), ""
		}
	}
	return c.judge(w)
}

// prepare sets the retry interval of node i. If restart is set, it starts a node that is down.
func (r *calmRun) prepare(i int, restart bool) {
	n := r.w.change(i)
	n.claims = 0
	m := n.m
	m.options.Retry = 2
	if m.keeps(r15) {
		m.retryAt = 0
	}
	for k := range m.links {
		m.links[k].sent = sentState{}
	}
	for j := range r.w.nodes {
		r.w.discover(m, j)
	}
	if restart && !n.gone && !n.up {
		n.up = true
		n.m = r.w.s.boot(r.w, i)
		n.m.config, n.m.committed, n.m.wasMember, n.m.before = m.config, m.committed, m.wasMember, m.before
		n.m.options.Retry = 2
		r.step(i, func(m *Dynamic) {
			for j, o := range r.w.nodes {
				if j != i {
					m.links.add(link{peer: testID(j), name: entryOf(o.slot).Name, incarnation: o.life})
				}
			}
			m.Start(frozen)
			for j := range r.w.nodes {
				r.w.discover(m, j)
			}
		})
	}
}

// round wakes each node, shows the digest of each to the others, and elects.
func (r *calmRun) round() {
	r.now += 2
	w := r.w
	for i, n := range w.nodes {
		switch {
		case n.isDead():
		case n.mute:
			for j, o := range w.nodes {
				if !o.mute {
					r.queue = append(r.queue, envelope{i, j, Self{Member: n.m.options.Self}})
				}
			}
		default:
			r.step(i, func(m *Dynamic) { m.Wake(r.now) })
			r.deliver()
		}
	}
	for i, a := range w.nodes {
		for j, b := range w.nodes {
			if i != j && !a.isDead() && !b.isDead() && !a.mute && !b.mute {
				r.step(j, func(m *Dynamic) { m.HandleDigest(r.now, testID(i), a.m.Digest()) })
				r.deliver()
			}
		}
	}
	r.elect()
	for _, n := range w.nodes {
		n.key = nil
	}
}

// judge returns what is wrong with a world at rest, or a reason why that is allowed.
func (w *world) judge(before *world) (wrong, excuse string) {
	if w.violation != "" {
		return w.violation, ""
	}
	l := (&calmRun{w: w}).leader()
	if l < 0 {
		return w.judgeVacancy(before)
	}
	leader := w.nodes[l].m
	if !leader.committed {
		if w.isLost(leader.config) {
			return "", "the quorum of the newest config is lost"
		}
		return "the leader cannot commit", ""
	}
	for i, n := range w.nodes {
		if n.mute || n.gone || !n.up {
			continue
		}
		if wrong, excuse := w.judgeNode(i, n, leader, before); wrong != "" || excuse != "" {
			return wrong, excuse
		}
	}
	return w.judgeMembers(leader.config), ""
}

func (w *world) isLost(c Config) bool {
	voters := votersOf(c.Members)
	return voters != 0 && (voters&^w.dead()).size() < voters.quorum()
}

// judgeVacancy judges a world in which no node can be elected.
func (w *world) judgeVacancy(before *world) (wrong, excuse string) {
	if w.s.listed && w.commit.Cluster.IsZero() {
		return w.judgeBootstrap(before)
	}
	if w.isLost(w.commit) {
		return "", "the quorum of the committed config is lost"
	}
	for _, n := range w.nodes {
		isNewer := n.m.config.ID.Compare(w.commit.ID) > 0
		if isNewer && !n.isDead() && n.m.before == nil && w.isLost(n.m.config) {
			return "", "a survivor holds a newer config without a quorum"
		}
	}
	return "no node can be elected", ""
}

// judgeBootstrap judges a world in which a list has not bootstrapped a cluster that can elect.
func (w *world) judgeBootstrap(before *world) (wrong, excuse string) {
	isDown := func(n *node) bool { return !n.up && !n.gone }
	switch {
	case slices.ContainsFunc(w.nodes, isDown):
		return "", "a listed node is down"
	case before.hasStranded():
		return "", "a node holds a config of which a quorum was emptied"
	}
	return "no node can be elected", ""
}

// hasStranded reports whether a node holds a config of which no quorum is left, because directories were emptied.
// An initial config may be held by its members only (F2), one of a leader by any node.
func (w *world) hasStranded() bool {
	return slices.ContainsFunc(w.nodes, func(n *node) bool {
		mayHold := n.m.isVoter() || n.m.config.ID.Term > 0
		return !n.gone && mayHold && w.isEmptied(n.m.config)
	})
}

// isEmptied reports whether no quorum of c is left, because directories were emptied.
func (w *world) isEmptied(c Config) bool {
	remain := votersOf(c.Members) &^ w.gone()
	return w.s.listed && !c.Cluster.IsZero() && remain.size() < quorum(c.Members)
}

// judgeNode compares node i, which runs or has ended, with a leader that has committed its config.
func (w *world) judgeNode(i int, n *node, leader *Dynamic, before *world) (wrong, excuse string) {
	members := votersOf(leader.config.Members)
	isOutside := n.m.config.Cluster != leader.config.Cluster
	switch {
	case n.m.end != nil && members.has(i):
		return fmt.Sprintf("n%d has stopped and is a member", i+1), ""
	case n.m.end == ErrRemoved || n.m.end == ErrLeft:
		if !w.isOrdered(i) {
			return fmt.Sprintf("n%d was removed without a request", i+1), ""
		}
	case n.m.end == ErrExpired:
		if !w.s.expires {
			return fmt.Sprintf("n%d was removed without a request", i+1), ""
		}
	case n.m.end != nil:
		return fmt.Sprintf("n%d has stopped: %v", i+1, n.m.end), ""
	case isOutside && before.hasStranded():
		return "", "a node is stranded with a config of which a quorum was emptied"
	case isOutside || n.m.config.ID != leader.config.ID:
		return fmt.Sprintf("n%d holds %s, the leader %s", i+1, format(n.m.config), format(leader.config)), ""
	case !n.m.committed:
		return fmt.Sprintf("n%d does not know that its config is committed", i+1), ""
	case !members.has(i):
		if next := members | one(i); (next &^ w.dead()).size() < next.quorum() {
			return "", "a join would leave no quorum"
		}
		return fmt.Sprintf("n%d was not added", i+1), ""
	case n.m.wantsChange():
		return fmt.Sprintf("the entry of n%d is not what it should be", i+1), ""
	}
	return "", ""
}

// judgeMembers judges the committed config of the leader: each request must be done.
func (w *world) judgeMembers(c Config) (wrong string) {
	members, dead := votersOf(c.Members), w.dead()
	canLose := func(id algo.NodeID) bool {
		next := members &^ one(indexOf(id))
		return members.has(indexOf(id)) && (next&^dead).size() >= next.quorum()
	}
	for _, n := range w.nodes {
		if n.isDead() || n.mute {
			continue
		}
		for _, id := range n.m.removals {
			if canLose(id) {
				return fmt.Sprintf("n%d was not removed", indexOf(id)+1)
			}
		}
	}
	for i, e := range c.Members {
		for _, other := range c.Members[:i] {
			if other.Name == e.Name {
				return "two members have one name"
			}
		}
		if w.s.expires && dead.has(indexOf(e.ID)) && len(c.Members) > minAfterExpiry && canLose(e.ID) {
			return fmt.Sprintf("n%d is dead and was not removed", indexOf(e.ID)+1)
		}
	}
	return ""
}

// isOrdered reports whether an operator has asked for the removal of node i.
func (w *world) isOrdered(i int) bool {
	for k, o := range w.s.orders {
		if w.given>>k&1 == 1 && (o.target == i || o.leaves != 0 && !o.leaves.has(i)) {
			return true
		}
	}
	return false
}
