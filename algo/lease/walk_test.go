package lease_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/host"
	"github.com/elect-go/elect/internal/testkit"
)

// The first judge: machines alone, with an inner algorithm that nominates whomever it is told to, and a clock for
// each. Everything else goes wrong at random: messages come late, lost, doubled and out of order; processes crash
// also in the middle of what they do, and start again; they stand still; their clocks run within the drift; who is
// a member changes, by the rules that package membership has for that. It knows all, and sees whether two work at
// one moment, each by its own clock, over crashes too: the work of a dead process goes on until its lease is over.

// puppet nominates whom it is told.
type puppet struct{ algo.Base }

type point struct{ ID algo.NodeID }

func (point) Kind() string { return "point" }

func (puppet) Start(algo.Env, algo.View, algo.Stable) {}
func (puppet) Receive(env algo.Env, _ algo.NodeID, m algo.Message) {
	env.Announce(algo.Leader{ID: m.(point).ID})
}
func (puppet) Stable() algo.Stable   { return algo.Stable{} }
func (puppet) Clone() algo.Algorithm { return puppet{} }

const ms = time.Millisecond

// options are those of the walk: short, and with a guard for what is rounded.
var options = lease.Options{Duration: 1100 * ms, Drift: 10, Guard: time.Microsecond, Renew: 150 * ms, Preempt: true}

func puppets(t testing.TB, drain time.Duration) algo.Spec { return puppetsWith(t, options, drain) }

func puppetsWith(t testing.TB, o lease.Options, drain time.Duration) algo.Spec {
	o.Drain = drain
	inner := algo.Spec{Name: "puppet", Messages: []algo.Message{point{}}, New: func(algo.NodeID) algo.Algorithm { return puppet{} }}
	spec, err := lease.Wrap(inner, algo.Timing{RoundTrip: 100 * ms, Timeout: 200 * ms}, o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// roster is what the walk knows of a membership, and held says that it is saved.
type roster struct{ view algo.View }
type held struct{ stamp algo.Stamp }

func (roster) Kind() string { return "roster" }
func (held) Kind() string   { return "held" }

type alarm struct {
	at       time.Duration // by the clock of its node
	deadline bool
}

// actor is a process, and what a crash leaves of it.
type actor struct {
	id      algo.NodeID
	machine *driver.Machine // nil while it is down
	saved   algo.Stable
	view    algo.View // saved
	heldOK  bool      // this view was saved before a ballot above its stamp
	before  algo.View // the view that it has changed, as leader; zero if that is done
	holders algo.Set  // of the view that it has made

	rate, shown, since time.Duration // the clock: its percent, and what it showed when that was set
	stands             bool          // still
	alarms             map[algo.Timer]alarm
	dies               int // after so many effects

	works bool // for a leadership, maybe of before
	until time.Duration
	dead  time.Duration // until when the work of a process that died goes on
}

type envelope struct {
	from, to algo.NodeID
	m        algo.Message
	at       time.Duration // not before that
}

type walk struct {
	specs  []algo.Spec // of the configurations that there are: a restart may change it
	drains bool
	calm   int // the more the less goes wrong
	quick  int // the more the fewer messages are slow
	eager  bool
	trusts bool                 // work ends with its process, and who hears of that believes it
	deaf   map[algo.NodeID]bool // who takes part in the membership only
	blind  map[algo.NodeID]bool // who does not hear of that
	random *rand.Rand
	now    time.Duration
	actors []*actor
	mail   []envelope
	token  algo.Epoch // the highest that was announced
	broken string
	story  []string

	leaderships, raised, changed, crashes int
}

const people = 5 // of whom three are members at first

func newWalk(t testing.TB, seed uint64) *walk {
	drain := time.Duration(seed%2) * 400 * ms
	w := &walk{drains: seed%2 > 0, specs: []algo.Spec{puppets(t, drain)}, random: rand.New(rand.NewPCG(seed, 9))}
	for i := 1; i <= people; i++ {
		w.actors = append(w.actors, &actor{id: host.ID(i), rate: 100, view: viewOf(0, 1, host.ID(1), host.ID(2), host.ID(3))})
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
	return algo.NewView(number, members...).In(epoch)
}

func ids(v algo.View) (all []algo.NodeID) {
	for m := range v.All() {
		all = append(all, m.ID)
	}
	return all
}

func (w *walk) logf(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%8v ", w.now)+host.Sprintf(format, args...))
	if len(w.story) > 200 {
		w.story = w.story[100:]
	}
}

func (w *walk) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = host.Sprintf(format, args...)
	}
}

func (w *walk) clock(a *actor) time.Duration { return a.shown + (w.now-a.since)*a.rate/100 }

func (w *walk) find(id algo.NodeID) *actor { return w.actors[host.Number(id)-1] }

func (w *walk) start(a *actor) {
	w.logf("%s starts, with the ballot %d", a.id, a.saved.Epoch)
	a.machine, a.alarms, a.dies, a.stands = driver.NewMachine(&w.specs[w.random.IntN(len(w.specs))], a.id), map[algo.Timer]alarm{}, 0, false
	a.works, a.before, a.holders = false, algo.View{}, nil
	w.step(a, driver.Event{Kind: driver.EventStart, View: a.view, Saved: a.saved})
}

func (w *walk) crash(a *actor) {
	w.logf("%s crashes", a.id)
	if a.works && w.clock(a) < a.until && !w.trusts {
		a.dead = max(a.dead, a.until) // what it began may be on its way
	}
	a.machine, a.works = nil, false
	w.crashes++
}

// hand gives an event to a process, after the deadlines that are over.
func (w *walk) hand(a *actor, e driver.Event) {
	for w.expire(a, true) {
	}
	if a.machine != nil {
		w.step(a, e)
	}
}

// expire ends the first timer that is due.
func (w *walk) expire(a *actor, deadlines bool) bool {
	var first algo.Timer
	for _, t := range slices.Sorted(maps.Keys(a.alarms)) {
		if l := a.alarms[t]; l.at <= w.clock(a) && (l.deadline || !deadlines) && (first == "" || l.at < a.alarms[first].at) {
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
		if a.dies--; a.dies == 0 {
			w.crash(a)
		}
		return a.machine != nil
	}
	if effects.Save {
		if !survives() {
			return
		}
		a.saved = effects.Stable
	}
	now := w.clock(a)
	for _, t := range effects.Timers {
		delete(a.alarms, t.Timer)
		if !t.Stop {
			a.alarms[t.Timer] = alarm{now + t.Min + time.Duration(w.random.Int64N(int64(t.Max-t.Min)+1)), t.Deadline}
		}
	}
	if effects.Bound != "" {
		a.until = a.alarms[effects.Bound].at
	}
	for _, s := range effects.Sends {
		m, _ := algo.Open(s.Message)
		w.post(a, s.To, m)
		if !survives() {
			return
		}
	}
	for _, l := range effects.Announce {
		w.logf("%s announces %s in epoch %d, until %v by its clock, which shows %v", a.id, l.ID, l.Epoch, a.until, now)
		if l.ID != a.id {
			a.works = a.works && w.drains // else its work ends with the announcement
			continue
		}
		if l.Epoch <= w.token {
			w.fail("%s leads with the token %d after there was %d", a.id, l.Epoch, w.token)
		}
		w.token = max(w.token, l.Epoch)
		if w.leaderships++; led.ID == a.id {
			w.raised++
		}
		a.works = true
	}
	w.judge()
}

// working reports whether the work of a process may go on: of this life, or of one before. It ends with the
// lease also where the process hangs.
func (w *walk) working(a *actor) (now, dead bool) {
	return a.works && w.clock(a) < a.until, w.clock(a) < a.dead
}

func (w *walk) judge() {
	var who []algo.NodeID
	for _, a := range w.actors {
		for _, works := range [...]func() bool{
			func() bool { now, _ := w.working(a); return now },
			func() bool { _, dead := w.working(a); return dead },
		} {
			if works() {
				who = append(who, a.id)
			}
		}
	}
	if len(who) > 1 {
		w.fail("these work at one moment, or a life of one and a later one: %v", who)
	}
}

// pass lets time pass, in which whoever does not stand still does what is due.
func (w *walk) pass(d time.Duration) {
	w.now += d
	w.judge()
	if w.random.IntN(8) == 0 {
		w.deaf = nil
	}
	if w.random.IntN(40) == 0 {
		w.blind = nil
	}
	for _, i := range w.random.Perm(len(w.actors)) {
		a := w.actors[i]
		if w.random.IntN(10) == 0 {
			a.stands = false
			if a.machine == nil && a.view.Contains(a.id) {
				w.start(a)
			}
		}
		for !a.stands && w.expire(a, false) {
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

// deliver hands over some message.
func (w *walk) deliver() {
	if len(w.mail) == 0 {
		return
	}
	i := w.random.IntN(min(len(w.mail), 12)) // the oldest first, more or less
	e := w.mail[i]
	if e.at > w.now {
		w.mail = append(slices.Delete(w.mail, i, i+1), e)
		return
	}
	fate := w.random.IntN(20)
	if fate > 0 { // else it comes again
		w.mail = slices.Delete(w.mail, i, i+1)
	}
	a := w.find(e.to)
	if fate == 1 || a.stands {
		return
	}
	switch m := e.m.(type) {
	case roster:
		if !w.blind[a.id] {
			w.take(a, e.from, m.view)
		}
	case held:
		if a.machine != nil && m.stamp == a.view.Stamp() {
			a.holders.Add(e.from)
			if w.random.IntN(2) == 0 {
				w.govern(a)
			}
		}
	default:
		if a.machine != nil && a.view.Contains(e.from) && !w.deaf[a.id] && !w.deaf[e.from] {
			w.logf("%s hears from %s %s", a.id, e.from, fmt.Sprintf("%T%+v", m, m))
			w.hand(a, driver.Event{Kind: driver.EventReceive, Peer: e.from, Message: m})
		}
	}
}

// take puts a membership in force that is later. Who is not in it stops, and who is new starts.
func (w *walk) take(a *actor, from algo.NodeID, v algo.View) {
	if v.Stamp().Compare(a.view.Stamp()) > 0 {
		w.logf("%s takes the view %d of epoch %d, %v", a.id, v.Number(), v.Stamp().Epoch, ids(v))
		a.view, a.holders, a.before = v, nil, algo.View{}
		a.heldOK = a.saved.Epoch <= v.Stamp().Epoch
		switch {
		case !v.Contains(a.id):
			if a.machine != nil {
				w.crash(a)
			}
			return
		case a.machine == nil && a.heldOK && !from.IsZero() && w.random.IntN(2) == 0:
			w.start(a)
		case a.machine != nil:
			w.hand(a, driver.Event{Kind: driver.EventReconfigure, View: v})
		}
	}
	if a.machine != nil && a.heldOK && v.Stamp() == a.view.Stamp() && from != a.id && a.view.Contains(a.id) {
		w.post(a, from, held{v.Stamp()})
	}
}

// govern has who leads change who is a member, one at a time.
func (w *walk) govern(a *actor) {
	l := a.machine.Leader()
	stamp := a.view.Stamp()
	if l.ID != a.id || l.Epoch != a.machine.Stable().Epoch || l.Epoch < stamp.Epoch {
		return
	}
	members := ids(a.view)
	confirmed := 1
	for _, id := range members {
		if a.holders.Has(id) {
			confirmed++
		}
	}
	newcomer := slices.ContainsFunc(members, func(id algo.NodeID) bool {
		return a.before.Len() > 0 && !a.before.Contains(id) && !a.holders.Has(id)
	})
	number := stamp.Number + 1
	var before algo.View
	switch {
	case stamp.Epoch < l.Epoch:
		number = 1 // as it is, for this epoch
	case confirmed < a.view.Quorum() || newcomer:
		if a.before.Len() == 0 || w.random.IntN(2) == 0 {
			w.tell(a, a.view) // again
			return
		}
		members = ids(a.before)
	case !a.machine.Algorithm().(algo.Lessee).Backed():
		return
	default:
		who := host.ID(1 + w.random.IntN(people))
		if at := slices.Index(members, who); at < 0 {
			members = append(members, who)
		} else if who != a.id && len(members) > 2 {
			members = slices.Delete(members, at, at+1)
		} else {
			return
		}
		before = a.view
		w.changed++
	}
	next, told := viewOf(l.Epoch, number, members...), a.view
	w.take(a, a.id, next)
	a.before = before
	w.tell(a, next)
	w.tell(a, told, next)
}

// tell shows the last of some views to all who are in the first, or to whom it is about.
func (w *walk) tell(a *actor, views ...algo.View) {
	for _, id := range ids(views[0]) {
		if id != a.id {
			w.post(a, id, roster{views[len(views)-1]})
		}
	}
}

// act does one thing.
func (w *walk) act() {
	a := w.actors[w.random.IntN(people)]
	peer := w.actors[w.random.IntN(people)]
	switch w.random.IntN(w.calm) {
	case 0:
		if a.machine != nil && w.random.IntN(2) == 0 {
			w.crash(a)
		} else if a.machine == nil && a.view.Contains(a.id) {
			w.start(a)
		}
	case 1:
		a.dies = (1 + w.random.IntN(4)) * w.random.IntN(2)
	case 2:
		a.stands = a.machine != nil && !a.stands
	case 3:
		a.shown, a.since, a.rate = w.clock(a), w.now, []time.Duration{90, 100, 110}[w.random.IntN(3)]
	case 4, 5:
		w.blind = map[algo.NodeID]bool{a.id: true, peer.id: w.random.IntN(2) == 0}
	case 6:
		w.deaf = map[algo.NodeID]bool{a.id: true, peer.id: w.random.IntN(2) == 0}
	case 7:
		if a.machine != nil && !a.stands && a.id != peer.id {
			kind := []driver.EventKind{driver.EventSuspect, driver.EventTrust}[w.random.IntN(2)]
			w.hand(a, driver.Event{Kind: kind, Peer: peer.id})
		}
	case 12:
		if a.machine != nil && !a.stands && a.id != peer.id && peer.machine == nil {
			w.hand(a, driver.Event{Kind: driver.EventDied, Peer: peer.id})
		}
	case 8, 9, 10, 11:
		if a.machine != nil && a.works && a.machine.Leader().ID != a.id {
			a.works = false
			w.logf("the work of %s returns", a.id)
			w.hand(a, driver.Event{Kind: driver.EventReturned})
		}
	default:
		switch r := w.random.IntN(60); {
		case r == 0:
			w.nominate(a, peer)
		case r < 4:
			if a.machine != nil && !a.stands {
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

// nominate has all come to nominate one, or a few. An eager one asks for ballots that nobody would grant: whom
// a nominee takes to be free is not what safety stands on.
func (w *walk) nominate(a, peer *actor) {
	for _, o := range w.actors {
		if other := w.actors[host.Number(o.id)%people]; peer.machine != nil && o.machine != nil && (o == a || w.random.IntN(5) > 0) {
			w.hand(o, driver.Event{Kind: driver.EventReceive, Peer: other.id, Message: point{peer.id}})
		}
		if w.eager && o != peer && peer.machine != nil && peer.view.Contains(o.id) {
			w.hand(peer, driver.Event{Kind: driver.EventReceive, Peer: o.id, Message: lease.Reply{Yes: true}})
		}
	}
}

// What is given up where evidence is trusted: refusals for processes that live make two leaders.
func TestRefusalsForTheLivingMakeTwo(t *testing.T) {
	for seed := uint64(5); seed < 8*500; seed += 8 {
		w := newWalk(t, seed)
		for i := 0; i < 4000 && w.broken == ""; i++ {
			w.act()
			a, peer := w.actors[w.random.IntN(people)], w.actors[w.random.IntN(people)]
			if i%20 == 0 && a != peer && a.machine != nil && !a.stands && w.broken == "" {
				w.hand(a, driver.Event{Kind: driver.EventDied, Peer: peer.id})
			}
		}
		if w.broken != "" {
			t.Logf("seed %d: %s", seed, w.broken)
			return
		}
	}
	t.Error("they do not")
}

// TestNeverTwo walks.
func TestNeverTwo(t *testing.T) {
	began := time.Now()
	var sum walk
	walks, steps := testkit.Rounds(500, 12_000), 4000
	for seed := range uint64(walks) {
		w := newWalk(t, seed)
		for i := range steps {
			if w.act(); w.broken != "" {
				t.Fatalf("seed %d, step %d: %s\n%s", seed, i, w.broken, strings.Join(w.story, "\n"))
			}
		}
		sum.leaderships, sum.raised, sum.changed, sum.crashes = sum.leaderships+w.leaderships, sum.raised+w.raised, sum.changed+w.changed, sum.crashes+w.crashes
	}
	t.Logf("%d walks of %d steps in %v: %d leaderships, %d of them in place of one before, %d changes of members, %d crashes",
		walks, steps, time.Since(began).Round(ms), sum.leaderships, sum.raised, sum.changed, sum.crashes)
	if sum.leaderships < walks || sum.changed < walks/4 || sum.raised == 0 {
		t.Error("that shows little")
	}
}
