package lease_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/testkit"
)

// A random walk over machines without a cluster. The inner algorithm nominates the node that a message names, and each
// node has its own clock. The walk injects faults at random: messages are late, lost, duplicated or reordered;
// processes crash, also between the effects of an event, and restart; they stop for a while; their clocks run within
// the drift; the members change by the rules of package membership. The walk knows the whole state, and checks whether
// two nodes work at the same moment, each by its own clock. After a crash, the work of a process continues until its
// lease expires, or until its watchdog has ended it. Then the watchdog reports the end: to any nodes, late, and several
// times.

// puppet nominates the node that a message names.
type puppet struct{ algo.Base }

type point struct{ ID algo.NodeID }

func (point) Kind() string { return "point" }

func (puppet) Start(algo.Env, algo.View, algo.HardState) {}
func (puppet) Receive(env algo.Env, _ algo.NodeID, m algo.Message) {
	env.Announce(algo.Leader{ID: m.(point).ID})
}
func (puppet) HardState() algo.HardState { return algo.HardState{} }
func (puppet) Clone() algo.Algorithm     { return puppet{} }

const ms = time.Millisecond

// options are the options of the walk: short, and with a guard for rounding.
var options = lease.Options{Duration: 1100 * ms, ClockDrift: 10, Margin: time.Microsecond, RenewInterval: 150 * ms, Preempt: true}

func puppets(t testing.TB, drain time.Duration) algo.Spec { return puppetsWith(t, options, drain) }

func puppetsWith(t testing.TB, o lease.Options, drain time.Duration) algo.Spec {
	o.DrainTimeout = drain
	inner := algo.Spec{Name: "puppet", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return puppet{} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// config carries the members, and configAck reports that they are saved.
type config struct{ view algo.View }
type configAck struct{ config algo.ConfigID }

func (config) Kind() string    { return "config" }
func (configAck) Kind() string { return "config-ack" }

type alarm struct {
	at       time.Duration // by the clock of its node
	deadline bool
}

// actor is a process and its state that survives a crash.
type actor struct {
	id      algo.NodeID
	machine *driver.Machine // nil while it is down
	saved   algo.HardState
	view    algo.View // saved
	canAck  bool      // the view was saved before a ballot above its config ID
	before  algo.View // view that it changed as leader; zero once the change is committed
	holders algo.Set  // members that hold the view that it created

	rate, clockValue, clockSet time.Duration // the clock: rate in percent, and its value when the rate was set
	stopped                    bool
	alarms                     map[algo.Timer]alarm
	effectsLeft                int // until it crashes; 0 for no crash

	isWorking  bool // for a current or earlier leadership
	leaseUntil time.Duration
	ledEpoch   algo.Epoch // of its last leadership
	deaths     []*death   // its crashes while its work ran
}

// death is a crash of a process while its work ran.
type death struct {
	until time.Duration // the work continues until then, by the clock of the node
	epoch algo.Epoch
	ended bool // its watchdog has ended the work
}

type envelope struct {
	from, to algo.NodeID
	m        algo.Message
	at       time.Duration // earliest delivery
}

type walk struct {
	specs          []algo.Spec // one for each choice of options; a restart can change it
	drains         bool
	calm           int // a higher value means fewer faults
	quick          int // a higher value means fewer slow messages
	eager          bool
	trusts         bool                 // with TrustEvidence: work ends with its process
	hasWatchdogs   bool                 // a watchdog reports the end of the work of a crashed process
	isolated       map[algo.NodeID]bool // nodes that exchange only messages of the membership
	withoutConfigs map[algo.NodeID]bool // nodes that miss the messages of the membership
	random         *rand.Rand
	now            time.Duration
	actors         []*actor
	mail           []envelope
	token          algo.Epoch // highest announced epoch
	violation      string
	transcript     []line

	leaderships, raised, changed, crashes, reports int
}

const nodes = 5 // three of them are members at first

func newWalk(t testing.TB, seed uint64) *walk {
	drain := time.Duration(seed%2) * 400 * ms
	w := &walk{drains: seed%2 > 0, specs: []algo.Spec{puppets(t, drain)}, random: rand.New(rand.NewPCG(seed, 9))}
	for i := 1; i <= nodes; i++ {
		w.actors = append(w.actors, &actor{id: algosim.ID(i), rate: 100, view: viewOf(0, 1, algosim.ID(1), algosim.ID(2), algosim.ID(3))})
	}
	if seed%4 > 1 {
		longer := options
		longer.Duration, longer.Preempt = 2*longer.Duration, false
		w.specs = append(w.specs, puppetsWith(t, longer, drain))
	}
	if w.trusts = seed%8 == 5; w.trusts {
		trusting := options
		trusting.TrustEvidence, trusting.TrustedNetwork = true, true
		w.specs = []algo.Spec{puppetsWith(t, trusting, drain)}
	}
	w.hasWatchdogs = seed%3 == 1
	w.eager = w.random.IntN(3) == 0
	w.quick = 2 << w.random.IntN(5)
	w.calm = 80 << w.random.IntN(4)
	for _, a := range w.actors[:3] {
		w.start(a)
	}
	return w
}

func viewOf(epoch algo.Epoch, number uint64, ids ...algo.NodeID) algo.View {
	var members []algo.Member
	for _, id := range ids {
		members = append(members, algo.Member{ID: id, Eligible: true})
	}
	return algo.NewView(number, members...).WithTerm(epoch)
}

func ids(v algo.View) (all []algo.NodeID) {
	for m := range v.All() {
		all = append(all, m.ID)
	}
	return all
}

// line is a line of the transcript. Only a failed walk formats it, because formatting takes longer than the rest of a
// step.
type line struct {
	at     time.Duration
	format string
	args   []any
}

func (l line) String() string {
	return fmt.Sprintf("%8v ", l.at) + algosim.Sprintf(l.format, l.args...)
}

func (w *walk) logf(format string, args ...any) {
	w.transcript = append(w.transcript, line{w.now, format, args})
	if len(w.transcript) > 200 {
		w.transcript = slices.Delete(w.transcript, 0, 100)
	}
}

// lastLines formats the transcript.
func (w *walk) lastLines() string {
	var all strings.Builder
	for _, l := range w.transcript {
		fmt.Fprintln(&all, l)
	}
	return all.String()
}

func (w *walk) fail(format string, args ...any) {
	if w.violation == "" {
		w.violation = algosim.Sprintf(format, args...)
	}
}

func (w *walk) clock(a *actor) time.Duration { return a.clockValue + (w.now-a.clockSet)*a.rate/100 }

func (w *walk) find(id algo.NodeID) *actor { return w.actors[algosim.Number(id)-1] }

func (w *walk) start(a *actor) {
	w.logf("%s starts, with the ballot %d", a.id, a.saved.Epoch)
	a.machine, a.alarms, a.effectsLeft, a.stopped = driver.NewMachine(&w.specs[w.random.IntN(len(w.specs))], a.id), map[algo.Timer]alarm{}, 0, false
	a.isWorking, a.before, a.holders = false, algo.View{}, nil
	w.step(a, driver.Event{Kind: driver.EventStart, View: a.view, Saved: a.saved})
}

func (w *walk) crash(a *actor) {
	w.logf("%s crashes", a.id)
	if a.isWorking && w.clock(a) < a.leaseUntil && !w.trusts {
		a.deaths = append(a.deaths, &death{until: a.leaseUntil, epoch: a.ledEpoch}) // operations that it started may be in flight
	}
	a.machine, a.isWorking = nil, false
	w.crashes++
}

// handle passes an event to a process, after all expired deadlines.
func (w *walk) handle(a *actor, e driver.Event) {
	for w.expire(a, true) {
	}
	if a.machine != nil {
		w.step(a, e)
	}
}

// expire fires the first timer that is due.
func (w *walk) expire(a *actor, deadlines bool) bool {
	var first algo.Timer
	now := w.clock(a)
	for t, l := range a.alarms {
		if l.at <= now && (l.deadline || !deadlines) && (first == "" || cmp.Or(cmp.Compare(l.at, a.alarms[first].at), cmp.Compare(t, first)) < 0) {
			first = t
		}
	}
	if a.machine == nil || first == "" {
		return false
	}
	delete(a.alarms, first)
	w.step(a, driver.Event{Kind: driver.EventExpire, Timer: first})
	return true
}

// step performs an event in the order of the contract.
func (w *walk) step(a *actor, e driver.Event) {
	led := a.machine.Leader()
	effects := a.machine.Step(e)
	survives := func() bool {
		if a.effectsLeft--; a.effectsLeft == 0 {
			w.crash(a)
		}
		return a.machine != nil
	}
	if effects.Save {
		if !survives() {
			return
		}
		a.saved = effects.HardState
	}
	now := w.clock(a)
	for _, t := range effects.Timers {
		delete(a.alarms, t.Timer)
		if !t.Stop {
			a.alarms[t.Timer] = alarm{now + t.Min + time.Duration(w.random.Int64N(int64(t.Max-t.Min)+1)), t.Deadline}
		}
	}
	if effects.LeadUntil != "" {
		a.leaseUntil = a.alarms[effects.LeadUntil].at
	}
	for _, s := range effects.Sends {
		m, _ := algo.Unwrap(s.Message)
		w.post(a, s.To, m)
		if !survives() {
			return
		}
	}
	for _, l := range effects.Announce {
		w.logf("%s announces %s in epoch %d, until %v by its clock, which shows %v", a.id, l.ID, l.Epoch, a.leaseUntil, now)
		if l.ID != a.id {
			a.isWorking = a.isWorking && w.drains // without a drain, its work ends with the announcement
			continue
		}
		if l.Epoch <= w.token {
			w.fail("%s leads with the token %d after there was %d", a.id, l.Epoch, w.token)
		}
		w.token = max(w.token, l.Epoch)
		if w.leaderships++; led.ID == a.id {
			w.raised++
		}
		a.isWorking, a.ledEpoch = true, l.Epoch
	}
	w.checkWorking()
}

// workState reports whether the work of the current incarnation, or of an earlier one, may continue. It ends with the
// lease, even if the process hangs.
func (w *walk) workState(a *actor) (now, dead bool) {
	dead = slices.ContainsFunc(a.deaths, func(d *death) bool { return !d.ended && w.clock(a) < d.until })
	return a.isWorking && w.clock(a) < a.leaseUntil, dead
}

func (w *walk) checkWorking() {
	var working []algo.NodeID
	for _, a := range w.actors {
		now, dead := w.workState(a)
		for _, works := range [...]bool{now, dead} {
			if works {
				working = append(working, a.id)
			}
		}
	}
	if len(working) > 1 {
		w.fail("these work at the same moment (the same node twice means two incarnations): %v", working)
	}
}

// pass advances time, and fires the timers of all nodes that are not stopped.
func (w *walk) pass(d time.Duration) {
	w.now += d
	w.checkWorking()
	if w.random.IntN(8) == 0 {
		w.isolated = nil
	}
	if w.random.IntN(40) == 0 {
		w.withoutConfigs = nil
	}
	for _, i := range w.random.Perm(len(w.actors)) {
		a := w.actors[i]
		if w.random.IntN(10) == 0 {
			a.stopped = false
			if a.machine == nil && a.view.Contains(a.id) {
				w.start(a)
			}
		}
		for !a.stopped && w.expire(a, false) {
		}
	}
}

// post sends a message. Some are slow.
func (w *walk) post(from *actor, to algo.NodeID, m algo.Message) {
	e := envelope{from.id, to, m, w.now}
	if w.random.IntN(w.quick) == 0 {
		e.at += time.Duration(w.random.Int64N(int64(options.Duration)))
	}
	w.mail = append(w.mail, e)
}

// deliver delivers a random message.
func (w *walk) deliver() {
	if len(w.mail) == 0 {
		return
	}
	i := w.random.IntN(min(len(w.mail), 12)) // roughly the oldest first
	e := w.mail[i]
	if e.at > w.now {
		w.mail = append(slices.Delete(w.mail, i, i+1), e)
		return
	}
	fate := w.random.IntN(20)
	if fate > 0 { // otherwise it is delivered again
		w.mail = slices.Delete(w.mail, i, i+1)
	}
	a := w.find(e.to)
	if fate == 1 || a.stopped {
		return
	}
	switch m := e.m.(type) {
	case config:
		if !w.withoutConfigs[a.id] {
			w.take(a, e.from, m.view)
		}
	case configAck:
		if a.machine != nil && m.config == a.view.ConfigID() {
			a.holders.Add(e.from)
			if w.random.IntN(2) == 0 {
				w.govern(a)
			}
		}
	default:
		if a.machine != nil && a.view.Contains(e.from) && !w.isolated[a.id] && !w.isolated[e.from] {
			w.logf("%s hears from %s %T%+v", a.id, e.from, m, m)
			w.handle(a, driver.Event{Kind: driver.EventReceive, Peer: e.from, Message: m})
		}
	}
}

// take makes a newer view current. A removed node stops, and a new one starts.
func (w *walk) take(a *actor, from algo.NodeID, v algo.View) {
	if v.ConfigID().Compare(a.view.ConfigID()) > 0 {
		w.logf("%s takes the view %d of epoch %d, %v", a.id, v.Version(), v.ConfigID().Term, ids(v))
		a.view, a.holders, a.before = v, nil, algo.View{}
		a.canAck = a.saved.Epoch <= v.ConfigID().Term
		switch {
		case !v.Contains(a.id):
			if a.machine != nil {
				w.crash(a)
			}
			return
		case a.machine == nil && a.canAck && !from.IsZero() && w.random.IntN(2) == 0:
			w.start(a)
		case a.machine != nil:
			w.handle(a, driver.Event{Kind: driver.EventReconfigure, View: v})
		}
	}
	if a.machine != nil && a.canAck && v.ConfigID() == a.view.ConfigID() && from != a.id && a.view.Contains(a.id) {
		w.post(a, from, configAck{v.ConfigID()})
	}
}

// govern makes a leader change the members, one at a time.
func (w *walk) govern(a *actor) {
	l := a.machine.Leader()
	current := a.view.ConfigID()
	if l.ID != a.id || l.Epoch != a.machine.HardState().Epoch || l.Epoch < current.Term {
		return
	}
	members := ids(a.view)
	confirmed := 1
	for _, id := range members {
		if a.holders.Has(id) {
			confirmed++
		}
	}
	learnerPending := slices.ContainsFunc(members, func(id algo.NodeID) bool {
		return a.before.Len() > 0 && !a.before.Contains(id) && !a.holders.Has(id)
	})
	number := current.Version + 1
	var before algo.View
	switch {
	case current.Term < l.Epoch:
		number = 1 // the same members in this epoch
	case confirmed < a.view.Quorum() || learnerPending:
		if a.before.Len() == 0 || w.random.IntN(2) == 0 {
			w.sendConfig(a, a.view) // again
			return
		}
		members = ids(a.before)
	case !a.machine.Algorithm().(algo.LeaseHolder).HoldsLease():
		return
	default:
		member := algosim.ID(1 + w.random.IntN(nodes))
		if at := slices.Index(members, member); at < 0 {
			members = append(members, member)
		} else if member != a.id && len(members) > 2 {
			members = slices.Delete(members, at, at+1)
		} else {
			return
		}
		before = a.view
		w.changed++
	}
	next, previous := viewOf(l.Epoch, number, members...), a.view
	w.take(a, a.id, next)
	a.before = before
	w.sendConfig(a, next)
	w.sendConfig(a, previous, next)
}

// sendConfig sends the last of some views to all members of the first.
func (w *walk) sendConfig(a *actor, views ...algo.View) {
	for _, id := range ids(views[0]) {
		if id != a.id {
			w.post(a, id, config{views[len(views)-1]})
		}
	}
}

// act performs one random action.
func (w *walk) act() {
	a := w.actors[w.random.IntN(nodes)]
	peer := w.actors[w.random.IntN(nodes)]
	switch w.random.IntN(w.calm) {
	case 0:
		if a.machine != nil && w.random.IntN(2) == 0 {
			w.crash(a)
		} else if a.machine == nil && a.view.Contains(a.id) {
			w.start(a)
		}
	case 1:
		a.effectsLeft = (1 + w.random.IntN(4)) * w.random.IntN(2)
	case 2:
		a.stopped = a.machine != nil && !a.stopped
	case 3:
		a.clockValue, a.clockSet, a.rate = w.clock(a), w.now, []time.Duration{90, 100, 110}[w.random.IntN(3)]
	case 4, 5:
		w.withoutConfigs = map[algo.NodeID]bool{a.id: true, peer.id: w.random.IntN(2) == 0}
	case 6:
		w.isolated = map[algo.NodeID]bool{a.id: true, peer.id: w.random.IntN(2) == 0}
	case 7:
		if a.machine != nil && !a.stopped && a.id != peer.id {
			kind := []driver.EventKind{driver.EventSuspect, driver.EventTrust}[w.random.IntN(2)]
			w.handle(a, driver.Event{Kind: kind, Peer: peer.id})
		}
	case 12:
		if a.machine != nil && !a.stopped && a.id != peer.id && peer.machine == nil {
			w.handle(a, driver.Event{Kind: driver.EventPeerDied, Peer: peer.id})
		}
	case 13, 14, 15, 16:
		if w.hasWatchdogs && len(peer.deaths) > 0 {
			d := peer.deaths[w.random.IntN(len(peer.deaths))]
			d.ended = true
			w.report(a, peer, d)
		}
	case 8, 9, 10, 11:
		if a.machine != nil && a.isWorking && a.machine.Leader().ID != a.id {
			if w.random.IntN(4) == 0 {
				w.handle(a, driver.Event{Kind: driver.EventDrainEnded})
				break
			}
			a.isWorking = false
			w.logf("the work of %s returns", a.id)
			w.handle(a, driver.Event{Kind: driver.EventWorkReturned})
		}
	default:
		switch r := w.random.IntN(60); {
		case r == 0:
			w.nominate(a, peer)
		case r < 4:
			if a.machine != nil && !a.stopped {
				w.govern(a)
			}
		case r < 12:
			w.pass(time.Duration(w.random.Int64N(int64(options.Duration / 8))))
		default:
			w.deliver()
		}
	}
	if len(w.mail) > 100 {
		w.mail = slices.Delete(w.mail, 0, 20)
	}
}

// report reports to a that the work of a crashed process has ended. The process may run again.
func (w *walk) report(a, peer *actor, d *death) {
	if a.machine != nil && !a.stopped && a != peer {
		w.reports++
		w.logf("%s knows that the work of %s in epoch %d has ended", a.id, peer.id, d.epoch)
		w.handle(a, driver.Event{Kind: driver.EventPeerDied, Peer: peer.id, Ended: d.epoch})
	}
}

// nominate makes most nodes nominate the same one. An eager nominee requests ballots that no voter would grant:
// safety must not depend on its pre-votes.
func (w *walk) nominate(a, peer *actor) {
	for _, o := range w.actors {
		if other := w.actors[algosim.Number(o.id)%nodes]; peer.machine != nil && o.machine != nil && (o == a || w.random.IntN(5) > 0) {
			w.handle(o, driver.Event{Kind: driver.EventReceive, Peer: other.id, Message: point{peer.id}})
		}
		if w.eager && o != peer && peer.machine != nil && peer.view.Contains(o.id) {
			w.handle(peer, driver.Event{Kind: driver.EventReceive, Peer: o.id, Message: lease.Reply{Granted: true}})
		}
	}
}

// With TrustEvidence, forged refusals for live processes can cause two leaders.
func TestForgedRefusalsCauseTwoLeaders(t *testing.T) {
	for seed := uint64(5); seed < 8*500; seed += 8 {
		w := newWalk(t, seed)
		for i := 0; i < 4000 && w.violation == ""; i++ {
			w.act()
			a, peer := w.actors[w.random.IntN(nodes)], w.actors[w.random.IntN(nodes)]
			if i%20 == 0 && a != peer && a.machine != nil && !a.stopped && w.violation == "" {
				w.handle(a, driver.Event{Kind: driver.EventPeerDied, Peer: peer.id})
			}
		}
		if w.violation != "" {
			t.Logf("seed %d: %s", seed, w.violation)
			return
		}
	}
	t.Error("no walk has two leaders")
}

// A watchdog that reports the end of work that still runs can cause two leaders.
func TestEarlyReportsCauseTwoLeaders(t *testing.T) {
	for seed := uint64(1); seed < 3*500; seed += 3 {
		w := newWalk(t, seed)
		for i := 0; i < 4000 && w.violation == ""; i++ {
			w.act()
			for _, peer := range w.actors {
				for _, d := range peer.deaths {
					if i%20 == 0 && w.violation == "" {
						w.report(w.actors[w.random.IntN(nodes)], peer, d)
					}
				}
			}
		}
		if w.violation != "" {
			t.Logf("seed %d: %s", seed, w.violation)
			return
		}
	}
	t.Error("no walk has two leaders")
}

// TestAtMostOneLeaderAtAnyMoment runs the random walks.
func TestAtMostOneLeaderAtAnyMoment(t *testing.T) {
	started := time.Now()
	var sum walk
	walks, steps := testkit.Rounds(500, 12_000), 4000
	for seed := range uint64(walks) {
		w := newWalk(t, seed)
		for i := range steps {
			if w.act(); w.violation != "" {
				t.Fatalf("seed %d, step %d: %s\n%s", seed, i, w.violation, w.lastLines())
			}
		}
		sum.leaderships, sum.raised, sum.changed, sum.crashes = sum.leaderships+w.leaderships, sum.raised+w.raised, sum.changed+w.changed, sum.crashes+w.crashes
		sum.reports += w.reports
	}
	t.Logf("%d walks of %d steps in %v: %d leaderships, %d of them in a raised epoch, %d changes of members, %d crashes, %d reports of an end",
		walks, steps, time.Since(started).Round(ms), sum.leaderships, sum.raised, sum.changed, sum.crashes, sum.reports)
	if sum.leaderships < walks || sum.changed < walks/4 || sum.raised == 0 || sum.reports == 0 {
		t.Error("too few leaderships or changes to show anything")
	}
}
