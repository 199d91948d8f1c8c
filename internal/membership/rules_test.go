package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// lone is a machine whose surroundings a test makes up.
type lone struct {
	*Machine
	now     time.Duration
	leader  algo.Leader
	runs    bool
	taken   algo.Epoch
	dead    map[algo.NodeID]bool
	alone   bool // nobody has promised it anything
	sent    []algo.Envelope
	dialed  []string
	refused int
}

func (l *lone) Send(to algo.NodeID, m algo.Message) {
	l.sent = append(l.sent, algo.Envelope{To: to, Message: m})
}
func (l *lone) Show(algo.NodeID)                               {}
func (l *lone) Dial(_ algo.NodeID, addr string)                { l.dialed = append(l.dialed, addr) }
func (l *lone) Refuse(algo.NodeID, algo.Message, error)        { l.refused++ }
func (l *lone) Leader() (algo.Leader, bool, algo.Epoch)        { return l.leader, l.runs, l.taken }
func (l *lone) Widen()                                         {}
func (l *lone) Backed() bool                                   { return !l.alone }
func (l *lone) Suspected(id algo.NodeID) (bool, time.Duration) { return l.dead[id], 0 }

// of is a confirmed roster.
func of(epoch algo.Epoch, number uint64, members ...int) Roster {
	r := Roster{Cluster: algo.NodeID{0: 9}, Epoch: epoch, Number: number, Confirmed: true}
	for _, i := range members {
		r.Entries = append(r.Entries, entryOf(member(i)))
	}
	return r
}

// newLone is n1, which has saved a roster.
func newLone(quorum bool, r Roster, change ...func(*Config)) *lone {
	l := &lone{dead: map[algo.NodeID]bool{}}
	c := Config{
		Place: Place{Self: member(1), Cluster: algo.NodeID{0: 9}}, Quorum: quorum, FirstContact: 700 * ms,
		Repeat: time.Second, Patience: 8 * time.Second,
	}
	for _, f := range change {
		f(&c)
	}
	var saved []algo.Message
	if !r.Cluster.IsZero() {
		saved = append(saved, r)
	}
	l.Machine = New(c, l, saved...)
	l.Machine.Start(0)
	l.Unsaved()
	return l
}

// leads has n1 lead.
func (l *lone) leads(epoch algo.Epoch) *lone {
	l.runs, l.taken, l.leader = true, epoch, algo.Leader{Epoch: epoch, ID: id(1)}
	l.Led(l.now)
	l.tend(0)
	return l
}

// follows has n1 follow somebody.
func (l *lone) follows(i int, epoch algo.Epoch) *lone {
	l.runs, l.taken, l.leader = true, epoch, algo.Leader{Epoch: epoch, ID: id(i)}
	l.Led(l.now)
	return l
}

// tend passes time.
func (l *lone) tend(wait time.Duration) {
	end := l.now + wait
	for range 10_000 {
		l.Tend(l.now)
		if l.Deadline() > end {
			l.now = end
			return
		}
		l.now = max(l.now, l.Deadline())
		l.Wake(l.now)
	}
}

func (l *lone) hears(from int, m algo.Message) {
	if !l.Receive(l.now, id(from), m) {
		l.Spoken(l.now, id(from))
	}
	l.Tend(l.now)
}

// connects has a connection stand, to the address that was dialled if there is one.
func (l *lone) connects(i int, addr string) { l.Up(l.now, id(i), 1, 0, addr) }

func (l *lone) holds(from int) {
	l.hears(from, Held{Epoch: l.Roster().Epoch, Number: l.Roster().Number})
}

// said takes what was sent to a node, by kind.
func (l *lone) said(to int, kind string) (all []algo.Message) {
	for _, e := range l.sent {
		if e.To == id(to) && e.Message.Kind() == kind {
			all = append(all, e.Message)
		}
	}
	l.sent = slices.DeleteFunc(l.sent, func(e algo.Envelope) bool { return e.To == id(to) && e.Message.Kind() == kind })
	return all
}

func (l *lone) want(t *testing.T, what string, roster string) {
	t.Helper()
	if got := show(l.Roster()); got != roster {
		t.Errorf("%s: it has %s, want %s", what, got, roster)
	}
}

func join(i int) Join { return Join{Entry: entryOf(member(i))} }

func TestOnlyTheLeaderMakesRosters(t *testing.T) {
	for _, quorum := range []bool{false, true} {
		l := newLone(quorum, of(3, 7, 1, 2, 3)).follows(2, 3)
		l.hears(3, Propose{Entry: Entry{ID: id(2)}, Gone: true})
		l.hears(4, join(4))
		l.want(t, "a follower", "(3,7) of n1 n2 n3 confirmed")
		if got := l.said(2, "propose"); len(got) != 1 {
			t.Errorf("it proposes %v to its leader, want the newcomer", got)
		}
		l.leads(4)
		l.hears(3, Propose{Entry: Entry{ID: id(2)}, Gone: true})
		if quorum {
			l.want(t, "a new leader", "(4,1) of n1 n2 n3")
			l.holds(2)
			l.want(t, "who has a majority", "(4,2) of n1 n3 x2")
			l.holds(3)
		}
		l.want(t, "a leader", map[bool]string{false: "(4,1) of n1 n3 x2 confirmed", true: "(4,2) of n1 n3 x2 confirmed"}[quorum])
	}
}

// What a leader that took part in a later epoch makes could go another way than what the leader
// of that epoch does.
func TestALeaderThatTookPartInALaterEpochMakesNone(t *testing.T) {
	l := newLone(true, of(3, 7, 1, 2, 3)).leads(4)
	l.taken = 5
	l.hears(3, Propose{Entry: Entry{ID: id(2)}, Gone: true})
	l.want(t, "a leader of before", "(3,7) of n1 n2 n3 confirmed")
	l = newLone(true, of(3, 7, 1, 2, 3)).leads(4)
	later := of(5, 1, 1, 2, 3)
	later.Entries[0].Priority = 7 // it would have that changed
	l.hears(2, later)
	l.want(t, "who was told of a later one", "(5,1) of n1 n2 n3 confirmed")
}

func TestANewcomerMustHoldTheRoster(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3)).leads(4)
	l.hears(4, join(4))
	l.holds(2)
	l.holds(3)
	l.want(t, "held by a majority without the newcomer", "(4,8) of n1 n2 n3 n4")
	l.holds(4)
	l.want(t, "held by the newcomer", "(4,8) of n1 n2 n3 n4 confirmed")
}

// Who has been promised to lead by those of before only goes on with that first. Nothing is forgotten meanwhile.
func TestAChangeWaitsUntilWhoLeadsIsBackedByTheMembers(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3)).leads(4)
	l.alone = true
	l.hears(4, join(4))
	l.want(t, "promised by those of before", "(4,7) of n1 n2 n3 confirmed")
	l.alone = false
	l.tend(0)
	l.want(t, "promised by all", "(4,8) of n1 n2 n3 n4")
}

func TestANewcomerThatDiesFirstIsTakenBack(t *testing.T) {
	for name, dies := range map[string]func(l *lone){
		"it is suspected": func(l *lone) { l.dead[id(4)] = true; l.tend(0) },
		"it says nothing": func(l *lone) {
			l.tend(7 * time.Second)
			l.want(t, "it has time for an election", "(4,8) of n1 n2 n3 n4")
			l.tend(time.Second)
		},
	} {
		l := newLone(true, of(4, 7, 1, 2, 3)).leads(4)
		l.hears(4, join(4))
		l.holds(2)
		if !slices.Contains(l.Watched(), id(4)) {
			t.Errorf("%s: the newcomer is not watched", name)
		}
		dies(l)
		l.want(t, name, "(4,9) of n1 n2 n3")
		l.holds(2)
		l.dead[id(4)] = false
		l.hears(4, join(4))
		l.want(t, name+", and asks again", "(4,10) of n1 n2 n3 n4")
	}
}

// A change of which a majority dies before it is held is taken back if one of before is there.
func TestAChangeWithoutAMajorityIsTakenBack(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3, 4, 5)).leads(4)
	l.hears(2, Propose{Entry: Entry{ID: id(5)}, Gone: true})
	l.want(t, "n5 is to go", "(4,8) of n1 n2 n3 n4 x5")
	l.dead[id(3)], l.dead[id(4)] = true, true
	l.tend(0)
	l.want(t, "two more die", "(4,9) of n1 n2 n3 n4 n5")
	l.holds(2)
	l.holds(5)
	l.want(t, "held by those who live", "(4,9) of n1 n2 n3 n4 n5 confirmed")
	l = newLone(true, of(4, 7, 1, 2, 3, 4, 5)).leads(4)
	l.hears(2, Propose{Entry: Entry{ID: id(5)}, Gone: true})
	first := entryOf(member(2))
	first.Priority = 3
	l.hears(2, Propose{Entry: first})
	l.want(t, "something else is changed", "(4,9) of n1 n2 n3 n4 x5")
	l.dead[id(3)], l.dead[id(4)] = true, true
	l.tend(0)
	l.want(t, "two more die after that", "(4,10) of n1 n2 n3 n4 n5")
	if e, _ := l.Roster().find(id(2)); e.Priority != 3 {
		t.Error("what else was changed is lost")
	}
}

// V5: a guest that dies must not take the only founder down, and one that outranks it not become
// who would have to let it go on alone.
func TestAFounderOutlivesItsFirstGuest(t *testing.T) {
	guest := func() *lone {
		l := newLone(true, of(4, 7, 1)).leads(4)
		l.hears(2, join(2))
		l.holds(2)
		l.want(t, "with a guest", "(4,8) of n1 n2- confirmed")
		return l
	}
	l := guest()
	l.dead[id(2)] = true
	l.tend(time.Second)
	l.want(t, "it dies", "(4,9) of n1 confirmed")

	for after, want := range map[time.Duration]string{29 * time.Second: "(4,9) of n1 confirmed", 31 * time.Second: "(4,8) of n1 n2- confirmed"} {
		l = guest()
		l.tend(after)
		l.dead[id(2)] = true
		l.tend(0)
		l.want(t, fmt.Sprint("it dies after ", after), want)
	}

	l = guest()
	l.hears(2, Propose{Entry: entryOf(member(2))})
	l.want(t, "it asks at once to stand", "(4,8) of n1 n2- confirmed")
	l.tend(31 * time.Second)
	l.hears(2, Propose{Entry: entryOf(member(2))})
	l.holds(2)
	l.want(t, "it asks later", "(4,9) of n1 n2 confirmed")
	l.dead[id(2)] = true
	l.tend(time.Second)
	l.want(t, "it dies later", "(4,9) of n1 n2 confirmed")

	l = guest()
	l.hears(3, join(3))
	l.holds(2)
	l.holds(3)
	l.dead[id(3)] = true
	l.tend(time.Second)
	l.want(t, "one of more dies", "(4,9) of n1 n2- n3 confirmed")

	l = guest()
	l.hears(2, Propose{Entry: Entry{ID: id(2)}, Gone: true})
	l.want(t, "it is removed", "(4,9) of n1 x2 confirmed")
	if got := l.Watched(); len(got) != 0 {
		t.Errorf("%v are watched though nobody is there", got)
	}
}

// Who is in and has not heard of it is told, also if it asks to be otherwise and nobody leads.
func TestWhoIsInAlreadyIsTold(t *testing.T) {
	l := newLone(false, of(4, 7, 1, 2, 3))
	l.runs, l.taken = true, 4
	l.connects(3, "")
	asks := entryOf(member(3))
	asks.Priority = 7
	l.hears(3, Join{Entry: asks})
	if len(l.said(3, "view")) == 0 {
		t.Error("it waits for a leader")
	}
}

// Who has asked before there was a leader is let in as soon as there is one, and once.
func TestWhoHasAskedBeforeTheLeaderIsLetIn(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3))
	for i := 2; i <= 6; i++ {
		l.connects(i, "")
	}
	l.runs, l.taken = true, 4
	l.hears(4, join(4))
	l.hears(6, join(6))
	l.Down(l.now, id(6))
	l.follows(2, 5)
	if got := l.said(2, "propose"); len(got) != 1 || got[0].(Propose).Entry.ID != id(4) {
		t.Errorf("it proposes %v to the new leader, want who has asked", got)
	}
	if l.follows(2, 6); len(l.said(2, "propose")) != 0 {
		t.Error("it proposes once more")
	}
	l.runs, l.leader = true, algo.Leader{}
	l.hears(5, join(5))
	l.leads(7)
	l.holds(2)
	l.want(t, "a leader", "(7,2) of n1 n2 n3 n5")
}

// A change of who is a member waits for the one before.
func TestOneChangeAtATime(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3, 4, 5)).leads(4)
	l.hears(2, Propose{Entry: Entry{ID: id(5)}, Gone: true})
	l.hears(2, Propose{Entry: Entry{ID: id(4)}, Gone: true})
	l.want(t, "one is not held yet", "(4,8) of n1 n2 n3 n4 x5")
	l.holds(2)
	l.holds(2)
	l.hears(3, Held{Epoch: 4, Number: 7})
	l.hears(3, Held{Epoch: 3, Number: 8})
	l.want(t, "held by two of four", "(4,8) of n1 n2 n3 n4 x5")
	l.holds(3)
	l.want(t, "held by three", "(4,9) of n1 n2 n3 x5 x4")
	for i := range 2 * maxEntries {
		e := entryOf(member(6))
		e.ID, e.Name = algo.NodeID{14: byte(i>>8 + 1), 15: byte(i)}, fmt.Sprint("x", i)
		l.hears(2, Propose{Entry: e})
	}
	if len(l.queue) != maxEntries {
		t.Errorf("%d changes wait, want %d", len(l.queue), maxEntries)
	}
}

// Of three of whom one is dead the other stays, and so does the last who may lead.
func TestWhatCouldNotBeChangedBackIsNotMade(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3)).leads(4)
	l.dead[id(3)] = true
	l.hears(2, Propose{Entry: Entry{ID: id(2)}, Gone: true})
	l.want(t, "no majority would be there", "(4,7) of n1 n2 n3 confirmed")
	for _, quorum := range []bool{true, false} {
		r := of(4, 7, 1, 2)
		r.Entries[1].Eligible = false
		l = newLone(quorum, r).leads(4)
		witness := entryOf(member(1))
		witness.Eligible = false
		l.hears(2, Propose{Entry: witness})
		l.want(t, "nobody might lead", "(4,7) of n1 n2- confirmed")
	}
}

// N1: who comes late must still count.
func TestAFixedSetIsStampedWhenItIsFull(t *testing.T) {
	r := of(0, 0, 1, 2, 3, 4)
	r.Unmet, r.Confirmed = 1, false
	fixed := func(c *Config) {
		for i := 1; i <= 5; i++ {
			c.Fixed = append(c.Fixed, member(i).Addr)
		}
	}
	l := newLone(true, r, fixed).leads(1)
	l.hears(9, join(9))
	first := entryOf(member(2))
	first.Priority = 3
	l.hears(2, Propose{Entry: first})
	self := member(1)
	self.Priority = 2
	l.Restate(l.now, self)
	l.want(t, "a seat is empty", "(0,0) of n1 n2 n3 n4 and 1")
	late := of(0, 0, 5)
	late.Unmet, late.Confirmed = 4, false
	l.hears(5, late)
	l.want(t, "all are there", "(1,1) of n1 n2 n3 n4 n5")
	l.hears(2, Propose{Entry: first})
	l.tend(4 * time.Second)
	if e, _ := l.Roster().find(id(2)); e.Priority != 3 || l.Roster().Entries[0].Priority != 2 {
		t.Errorf("what has waited is not done: %v", l.Roster().Entries)
	}
	l = newLone(true, r, fixed).leads(1)
	l.hears(2, Propose{Entry: Entry{ID: id(4)}, Gone: true})
	l.want(t, "a change is ordered", "(1,1) of n1 n2 n3 n4 and 1")
}

func TestAPoisonedNumberEndsWithItsEpoch(t *testing.T) {
	l := newLone(false, of(4, 1<<60, 1, 2)).leads(4)
	l.hears(3, join(3))
	l.want(t, "in one epoch", fmt.Sprintf("(4,%d) of n1 n2 n3 confirmed", uint64(1<<60+1)))
	l.leads(5)
	l.hears(4, join(4))
	l.want(t, "in the next", "(5,1) of n1 n2 n3 n4 confirmed")
}

// The next leader must be able to make a later roster than one that was made up.
func TestALaterRosterWithoutThisNodeEndsItsEpochs(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3)).follows(2, 4)
	l.connects(3, "")
	l.hears(3, of(50, 1, 2, 3))
	if got := l.View(); got.Floor() != 50 || got.Stamp().Epoch != 4 {
		t.Errorf("epochs up to %d are over, of a view of epoch %d: want 50 and 4", got.Floor(), got.Stamp().Epoch)
	}
	if len(l.said(3, "join")) == 0 {
		t.Error("it does not ask to be let in")
	}
	l.tend(time.Second)
	if len(l.said(3, "join")) == 0 {
		t.Error("it does not ask again")
	}
	l.leads(51)
	l.hears(3, of(50, 1, 2, 3))
	l.want(t, "who leads after that", "(51,1) of n1 n2 n3")
}

// E3: one frame of who is no member changes nothing.
func TestAStrangersRosterIsNotTakenOver(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3), func(c *Config) { c.Seeds = []string{"seed:1"} }).follows(2, 4)
	later := of(9, 1, 1, 4)
	l.connects(4, "")
	l.hears(4, later)
	l.want(t, "of a stranger", "(4,7) of n1 n2 n3 confirmed")
	struck := of(9, 2, 4, 5).striking(id(1))
	l.hears(4, struck)
	l.connects(5, "")
	l.hears(5, struck)
	l.tend(10 * time.Second)
	if l.End() != (End{}) {
		t.Errorf("strangers have ended it: %+v", l.End())
	}
	l.connects(4, "seed:1")
	l.hears(4, later)
	l.want(t, "of who is where its configuration says", "(9,1) of n1 n4 confirmed")

	met, moved := of(0, 0, 1, 2, 3), of(0, 0, 1, 2, 4)
	met.Confirmed, moved.Confirmed, moved.Entries[1].Addr = false, false, "x:1"
	l = newLone(true, met)
	l.hears(4, moved)
	if e, _ := l.Roster().find(id(2)); e != entryOf(member(2)) {
		t.Errorf("a stranger has moved a member of a full set to %s", e.Addr)
	}
}

// slow has a word wait 2 s for another.
func slow(c *Config) { c.Patience = 16 * time.Second }

// Where a majority is needed two liars among five end nobody, and one that says that all are removed
// does not if a majority says otherwise.
func TestAMajorityEndsAMember(t *testing.T) {
	struck, alone := of(5, 1, 2, 3, 4, 5).striking(id(1)), of(5, 1, 2)
	for i := 1; i <= 5; i++ {
		if i != 2 {
			alone = alone.striking(id(i))
		}
	}
	l := newLone(true, of(4, 7, 1, 2, 3, 4, 5), slow).follows(2, 4)
	for range 20 {
		l.hears(2, struck)
		l.hears(3, struck)
		l.tend(500 * ms)
		l.Shown(l.now, id(4), l.Digest())
	}
	if l.End() != (End{}) {
		t.Error("two of four others end it")
	}
	for range 20 {
		l.hears(2, alone)
		l.tend(500 * ms)
		l.Shown(l.now, id(3), l.Digest())
		l.Shown(l.now, id(4), l.Digest())
	}
	if l.End() != (End{}) {
		t.Error("one ends it that says that all are removed")
	}
	l.hears(2, struck)
	l.hears(3, struck)
	if l.hears(4, struck); !l.End().Removed {
		t.Error("three of four others do not end it")
	}
	l = newLone(false, of(4, 7, 1, 2, 3, 4, 5), slow).follows(2, 4)
	l.hears(2, struck)
	if l.hears(3, struck); !l.End().Removed {
		t.Error("two do not end it where no majority is needed")
	}
}

// The word of one member ends nobody, unless nobody says otherwise.
func TestOneWordEndsNobody(t *testing.T) {
	struck := of(5, 1, 2, 3).striking(id(1))
	hears := func() *lone {
		l := newLone(true, of(4, 7, 1, 2, 3), slow).follows(2, 4)
		l.hears(2, struck)
		l.hears(2, struck)
		if l.End() != (End{}) || l.Ready(l.now) {
			t.Errorf("it ends at the word of one: %+v; ready %v", l.End(), l.Ready(l.now))
		}
		return l
	}
	l := hears()
	l.hears(3, struck)
	if !l.End().Removed {
		t.Error("it runs on though two say so")
	}
	l = hears()
	l.tend(time.Second)
	l.tend(500 * ms)
	l.Shown(l.now, id(3), l.Digest())
	l.hears(2, struck)
	if l.tend(time.Second); l.End() != (End{}) {
		t.Error("it ends though another says otherwise")
	}
	l = hears()
	l.tend(3 * time.Second)
	if l.End() != (End{}) || len(l.said(2, "view")) == 0 {
		t.Error("it ends at one frame, or does not ask again")
	}
	l.hears(2, struck)
	if l.tend(time.Second); !l.End().Removed {
		t.Error("it runs on though nobody says otherwise")
	}
	l = hears()
	if l.tend(6 * time.Second); l.End() != (End{}) || !l.Ready(l.now) {
		t.Error("the word of one who has died keeps it from running")
	}
	for _, quorum := range []bool{false, true} {
		l = newLone(quorum, of(4, 7, 1, 2, 3, 4, 5), slow).follows(2, 4) // and one that was struck with it does not count
		l.hears(2, of(5, 1, 2, 4, 5).striking(id(3)).striking(id(1)))
		l.Shown(l.now, id(3), l.Digest())
		l.tend(1500 * ms)
		l.hears(2, of(5, 1, 2, 4, 5).striking(id(3)).striking(id(1)))
		if l.tend(time.Second); !l.End().Removed {
			t.Error("two who were struck keep each other")
		}
	}
	l = newLone(true, of(4, 7, 1, 2, 3)).follows(2, 4)
	struck.Confirmed = false
	l.hears(2, struck)
	l.hears(3, struck)
	if l.tend(5 * time.Second); l.End() != (End{}) {
		t.Error("what is not decided has ended it")
	}
}

// A strike that was taken back does not keep those apart of whom one has not heard that.
func TestAStrikeThatWasTakenBack(t *testing.T) {
	struck := func(i, other int) Roster {
		r := of(4, 7, other, 3).striking(id(i))
		r.Confirmed = false
		return r
	}
	l := newLone(true, of(4, 8, 1, 2, 3)).follows(2, 4)
	l.hears(3, struck(1, 2))
	if len(l.said(3, "view")) == 0 {
		t.Error("who was to be struck does not say that it was not")
	}
	l = newLone(true, struck(2, 1)).follows(3, 4)
	l.hears(2, of(4, 8, 1, 2, 3))
	l.want(t, "there is a leader to decide it", "(4,7) of n1 n3 x2")
	l = newLone(true, struck(2, 1))
	l.hears(2, of(4, 8, 1, 2, 3))
	l.want(t, "nobody leads", "(4,8) of n1 n2 n3 confirmed")
}

// Who has another one in its seat ends if that one is the later life, and not if it is the earlier: so
// whoever was down meanwhile knows the seat.
func TestALaterLifeEndsTheEarlier(t *testing.T) {
	for number, ends := range map[uint64]bool{6: false, 8: true} {
		l := newLone(false, of(4, 7, 1, 2, 3)).follows(2, 4)
		other := of(4, number, 2, 3, 9)
		other.Entries[2].Name, other.Entries[2].Addr = member(1).Name, member(1).Addr
		l.hears(2, other)
		if l.hears(3, other); l.End().Removed != ends {
			t.Errorf("it was taken over with number 7, and is shown number %d: ends %v, want %v", number, !ends, ends)
		}
	}
}

// Without a majority two sides may differ about who is struck: whoever takes the roster of the
// other side over asks for its own strikes, over restarts too.
func TestStrikesAreOwed(t *testing.T) {
	l := newLone(false, of(4, 7, 1, 2).striking(id(3))).follows(2, 5)
	l.hears(2, of(5, 1, 1, 2, 3))
	l.want(t, "at the heal", "(5,1) of n1 n2 n3 confirmed")
	records := l.Unsaved()
	if i := slices.IndexFunc(records, func(m algo.Message) bool { return m.Kind() == "owed" }); i < 0 || records[i].(Owed).Strikes[0] != id(3) {
		t.Errorf("it saves %v, want what it is owed", records)
	}
	if got := l.said(2, "propose"); len(got) != 1 || !got[0].(Propose).Gone {
		t.Errorf("it proposes %v, want the strike", got)
	}
	again := &lone{dead: map[algo.NodeID]bool{}}
	again.Machine = New(l.config, again, append(records, l.Roster())...)
	again.Machine.Start(0)
	again.leads(6)
	again.tend(time.Second)
	again.want(t, "it leads after a restart", "(6,1) of n1 n2 x3 confirmed")
	if len(again.owed) != 0 {
		t.Errorf("it is owed %v still", again.owed)
	}
}

// Who asks to be let in again may know the one it asks, and not the leader of now.
func TestWhoWasAskedVouches(t *testing.T) {
	l := newLone(false, of(4, 7, 1, 2, 3)).follows(2, 5)
	l.connects(4, "")
	l.hears(2, of(5, 1, 1, 2, 3, 4))
	if len(l.said(4, "view")) == 0 {
		t.Error("n4 is not told by who it has asked")
	}
}

// Without a leader who takes over a roster passes it on. Without it those never agree to whom its maker is a
// stranger: a ring of n1, n2 and n4 would have to be closed by n2, which n4 cannot tell (storm of ring, wan,
// seed 70005819: an emptied founder had led those whom it had met).
func TestWithoutALeaderARosterIsPassedOn(t *testing.T) {
	l := newLone(false, of(1, 1, 1, 2, 3), func(c *Config) { c.Seeds = []string{"n4:1"} })
	l.connects(2, "")
	l.connects(4, "n4:1")
	l.hears(4, of(1, 2, 1, 2, 4))
	l.want(t, "from who let it in", "(1,2) of n1 n2 n4 confirmed")
	if told := l.said(2, "view"); len(told) == 0 || told[len(told)-1].(Roster).Number != 2 {
		t.Errorf("n2, which n4 is a stranger to, was told %v", told)
	}
}

// Who was struck is not let in, also if it asks.
func TestTheStruckStayOut(t *testing.T) {
	l := newLone(false, of(4, 7, 1, 2).striking(id(3))).leads(4)
	l.connects(3, "")
	l.hears(3, join(3))
	l.want(t, "it asks", "(4,7) of n1 n2 x3 confirmed")
	if len(l.said(3, "reject")) == 0 || len(l.said(3, "view")) == 0 {
		t.Error("it is not told why")
	}
}

// Who is struck so soon after it was told something that it must wait for the next roster is told all the
// same: it is no member any more then, and no heartbeat may ever show it.
func TestWhoIsStruckWithinThePauseIsTold(t *testing.T) {
	l := newLone(true, of(3, 7, 1)).leads(3)
	l.connects(2, "")
	l.hears(2, join(2))
	if err := l.Remove(l.now, id(2)); err != nil {
		t.Fatal(err)
	}
	l.holds(2)
	l.want(t, "it has its turn", "(3,9) of n1 x2 confirmed")
	l.tend(2 * pause)
	told := l.said(2, "view")
	if last := told[len(told)-1].(Roster); !last.struck(id(2)) {
		t.Errorf("n2 was told %s last, want its strike", show(last))
	}
}

// V1: a resignation is nothing that only a leader could take back.
func TestAResignationIsInNoRosterAndEnds(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3)).follows(3, 4)
	l.Resign(0, 5*time.Second)
	l.hears(2, Stand{Resigned: true})
	for i, want := range []bool{false, false, true} {
		if got := l.View().MayLead(id(i + 1)); got != want {
			t.Errorf("n%d may lead: %v, want %v", i+1, got, want)
		}
	}
	if len(l.Unsaved()) != 0 || l.Roster().Number != 7 {
		t.Error("it is saved")
	}
	l.tend(2500 * ms)
	if got := l.said(2, "stand"); len(got) != 3 {
		t.Errorf("it says %v in 2.5 s, want it at once and each second", got)
	}
	if l.View().MayLead(id(2)) {
		t.Error("n2 stands again too soon")
	}
	l.tend(time.Second)
	if !l.View().MayLead(id(2)) {
		t.Error("n2, of which nothing is heard, does not stand again")
	}
	l.connects(2, "")
	l.hears(2, Stand{Count: 7})
	l.hears(2, Stand{Resigned: true, Count: 6})
	if !l.View().MayLead(id(2)) {
		t.Error("what is late counts")
	}
	l.Up(l.now, id(2), 2, 0, "")
	l.hears(2, Stand{Resigned: true, Count: 1})
	if l.View().MayLead(id(2)) {
		t.Error("what n2 says in its next life does not count")
	}
	l.tend(2 * time.Second)
	got := l.said(3, "stand")
	if !l.View().MayLead(id(1)) || got[len(got)-1].(Stand).Resigned {
		t.Errorf("n1 does not stand again: it has said %v", got)
	}
	l.tend(5 * time.Second)
	if got := l.said(3, "stand"); len(got) != 1 || got[0].(Stand).Resigned {
		t.Errorf("it says %v after the end of it, want that it stands, once more", got)
	}
}

// Who resigned and was started again stands: nobody is told that it does not.
func TestAResignationEndsWithTheProcess(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3)).follows(3, 4)
	up := func(incarnation uint64) { l.Up(l.now, id(2), incarnation, l.Digest(), "") }
	up(1)
	l.hears(2, Stand{Resigned: true, Count: 1})
	up(1)
	if l.View().MayLead(id(2)) {
		t.Error("it stands again on a new connection of the same process")
	}
	if up(2); !l.View().MayLead(id(2)) {
		t.Error("its next process does not stand")
	}
	if len(l.said(2, "stand")) > 0 {
		t.Error("who never resigned says that it stands")
	}
	l.Resign(l.now, time.Second)
	l.tend(2 * time.Second)
	l.said(2, "stand")
	up(3)
	if got := l.said(2, "stand"); len(got) != 1 || got[0].(Stand).Resigned {
		t.Errorf("whom the end of it may not have reached hears %v", got)
	}
}

// V6: nobody but who this node was configured to ask can turn it away, and only before it is in.
func TestWhoCanTurnANodeAway(t *testing.T) {
	l := newLone(true, Roster{}, func(c *Config) { c.Seeds = []string{"seed:1"} })
	l.connects(2, "")
	l.hears(2, Reject{Reason: "no"})
	if l.End() != (End{}) {
		t.Error("a stranger has turned it away")
	}
	if l.refused != 1 {
		t.Error("it keeps the connection, and will never know who is at its seed")
	}
	l.connects(3, "seed:1")
	l.hears(3, Reject{Reason: "no"})
	if l.End().Rejected == nil {
		t.Error("its seed has not")
	}
	l = newLone(true, of(4, 7, 1, 2, 3), func(c *Config) { c.Seeds = []string{"seed:1"} })
	l.connects(3, "seed:1")
	l.hears(3, Reject{Reason: "no"})
	if l.End() != (End{}) {
		t.Error("a member was turned away")
	}
}

// V6: a node that forgot its vote must not pass for the one that it was, also while the set meets.
func TestAnEmptiedMemberOfAFixedSetDoesNotRun(t *testing.T) {
	fixed := func(c *Config) { c.Self.ID, c.Fixed = id(9), []string{"n1:1", "n2:1", "n3:1"} }
	l := newLone(true, Roster{}, fixed)
	l.connects(2, "n2:1")
	theirs := of(0, 0, 1, 2, 3)
	theirs.Confirmed = false
	l.hears(2, theirs)
	if l.Ready(l.now) {
		t.Error("it runs beside who it was")
	}
	if len(l.said(2, "join")) == 0 {
		t.Error("it does not ask to be let in")
	}
	l.hears(2, Reject{Reason: "the name belongs to n1"})
	if l.End().Rejected == nil {
		t.Error("it hangs")
	}
}

// V6: it may have met some before they heard of who it was, and have begun with them.
func TestAnEmptiedMemberThatRunsEndsWhenTheOthersGoOnWithoutIt(t *testing.T) {
	l := newLone(true, Roster{}, func(c *Config) {
		c.Self.ID, c.Fixed = id(9), []string{"n1:1", "n2:1", "n3:1", "n4:1", "n5:1"}
	})
	for i := 2; i <= 3; i++ {
		l.connects(i, fmt.Sprintf("n%d:1", i))
		theirs := of(0, 0, 2, 3)
		theirs.Confirmed, theirs.Unmet = false, 3
		l.hears(i, theirs)
	}
	if !l.Ready(l.now) {
		t.Fatal("three of five do not begin")
	}
	l.runs, l.taken = true, 4
	for i := 2; i <= 3; i++ {
		later := of(4, 1, 1, 2, 3, 4, 5)
		later.Entries[0].Name = l.config.Self.Name
		l.hears(i, later)
		l.hears(i, Reject{Reason: "the name belongs to n1"}) // of who runs it ends nothing
		if ends := l.End() != (End{}); ends != (i == 3) {
			t.Errorf("%d of the two that it has met have gone on without it: it ends %v", i-1, ends)
		}
	}
}

// E1: what is too far ahead moves what is believed, if a member says it, and counts if that is enough.
func TestAMemberMovesTheHorizonOnceInASecond(t *testing.T) {
	l := newLone(false, of(4, 7, 1, 2, 3)).follows(2, 4)
	far := of(5+1<<33, 1, 1, 2, 3, 4)
	for i, step := range []struct {
		from  int
		wait  time.Duration
		taken bool
	}{{4, 0, false}, {4, 0, false}, {2, 0, false}, {2, ms, false}, {3, ms, true}} {
		l.now += step.wait
		l.hears(step.from, far)
		if got := l.Roster().Epoch == far.Epoch; got != step.taken {
			t.Errorf("step %d: taken over %v, want %v", i, got, step.taken)
		}
	}
	l = newLone(false, of(4, 7, 1, 2, 3)).follows(2, 4)
	far.Epoch = 4 + 1<<34
	for i := range 4 {
		l.now += time.Second
		l.hears(2, far)
		if got := l.Roster().Epoch == far.Epoch; got != (i >= 2) {
			t.Errorf("said for the %d. time: taken over %v", i+1, got)
		}
	}
}

// A member that answers elections and never leads can be removed where no majority is needed.
func TestWithoutALeaderAnOrderIsCarriedOut(t *testing.T) {
	for _, quorum := range []bool{false, true} {
		l := newLone(quorum, of(4, 7, 1, 2, 3))
		l.runs, l.taken = true, 4
		if err := l.Remove(0, id(3)); err != nil {
			t.Fatal(err)
		}
		l.tend(7 * time.Second)
		l.want(t, "before its patience has ended", "(4,7) of n1 n2 n3 confirmed")
		l.tend(10 * time.Second)
		l.want(t, "after that", map[bool]string{false: "(4,8) of n1 n2 x3 confirmed", true: "(4,7) of n1 n2 n3 confirmed"}[quorum])
	}
}

// M4: a node that was removed, or deposed, while it was down must not lead for a moment.
func TestARestartWaitsUntilItIsShownTheRoster(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(l *lone)
		ready   bool
	}{
		"nothing":              {func(*lone) {}, false},
		"its own roster":       {func(l *lone) { l.Shown(0, id(2), l.Digest()) }, true},
		"a later one":          {func(l *lone) { l.hears(2, of(9, 1, 1, 2, 3)) }, true},
		"one refuses":          {func(l *lone) { l.Missed(id(2), "n2:1", Refusal) }, false},
		"all refuse":           {func(l *lone) { l.Missed(id(2), "n2:1", Refusal); l.Missed(id(3), "n3:1", Refusal) }, true},
		"one is starting":      {func(l *lone) { l.Missed(id(2), "n2:1", Refusal); l.Missed(id(3), "n3:1", Pending) }, false},
		"nothing for long":     {func(l *lone) { l.tend(701 * ms) }, true},
		"that it was removed":  {func(l *lone) { l.hears(2, of(9, 1, 2, 3).striking(id(1))) }, false},
		"that it is no member": {func(l *lone) { l.hears(4, of(9, 1, 4)) }, false},
	} {
		l := newLone(false, of(4, 7, 1, 2, 3))
		test.happens(l)
		if got := l.Ready(l.now); got != test.ready {
			t.Errorf("%s: ready %v, want %v", name, got, test.ready)
		}
	}
	if l := newLone(true, of(4, 7, 1, 2, 3)); !l.Ready(0) {
		t.Error("with a quorum it waits")
	}
}

// V4: all may have moved, so that what the roster says leads nowhere.
func TestWhoIsConnectedToNobodyAsksItsConfiguration(t *testing.T) {
	l := newLone(true, of(4, 7, 1, 2, 3), func(c *Config) { c.Seeds = []string{"new:1"} })
	l.connects(2, "")
	l.dialed = nil
	// Some may have met again, and others too.
	if l.tend(5 * time.Second); len(l.dialed) < 4 || len(l.dialed) > 6 || !slices.Contains(l.dialed, "new:1") {
		t.Errorf("it dials %v, want once in a second what its configuration names, while a member is missing", l.dialed)
	}
	l.connects(3, "")
	l.dialed = nil
	if l.tend(20 * time.Second); len(l.dialed) > 1 {
		t.Errorf("it dials %v, connected to all", l.dialed)
	}
	l.Down(l.now, id(2))
	l.Down(l.now, id(3))
	l.dialed = nil
	if l.tend(2 * time.Second); len(l.dialed) < 3 || !slices.Contains(l.dialed, "new:1") {
		t.Errorf("it dials %v, want often what its configuration names", l.dialed)
	}
}

// V4: who has moved is found by nobody until all know where it is, and it may hear of others first.
func TestWhoHasMovedDialsAll(t *testing.T) {
	l := newLone(false, of(4, 7, 1, 2, 3), func(c *Config) { c.Self.Addr = "new:1" }).follows(2, 4)
	l.connects(2, "")
	l.dialed = nil
	moved := of(4, 8, 1, 2, 3)
	moved.Entries[2].Addr = "new:3"
	if l.hears(2, moved); !slices.Equal(l.dialed, []string{"new:3"}) {
		t.Errorf("it dials %v, want who is not connected", l.dialed)
	}
	if l.tend(10 * time.Second); len(l.dialed) < 4 {
		t.Errorf("it dials %v, want that again and again", l.dialed)
	}
	moved.Entries[0].Addr, moved.Number = "new:1", 9
	l.hears(2, moved)
	l.dialed = nil
	if l.tend(10 * time.Second); len(l.dialed) > 0 {
		t.Errorf("it dials %v, though all know its address", l.dialed)
	}
}

// E5: only members can fill a roster; what is past makes room.
func TestARosterHasRoomForMembers(t *testing.T) {
	r := of(4, 7, 1)
	for i := range 600 {
		r = r.striking(algo.NodeID{1: byte(i >> 8), 2: byte(i)})
	}
	if len(r.Strikes) != maxStrikes || r.Strikes[maxStrikes-1] != (algo.NodeID{1: 599 >> 8, 2: 599 & 0xff}) {
		t.Errorf("%d strikes are kept, want the last %d", len(r.Strikes), maxStrikes)
	}
	l := newLone(false, r).leads(4)
	long := strings.Repeat("x", 255)
	in := 1
	for i := 2; i < 600; i++ {
		from := algo.NodeID{14: byte(i >> 8), 15: byte(i)}
		l.Receive(0, from, Join{Entry: Entry{ID: from, Name: fmt.Sprint("n", i), Addr: long, Eligible: true}})
		if l.Roster().has(from) {
			in++
		}
		l.sent = nil
	}
	if got := l.Roster(); !got.fits() || in < 150 || len(got.Entries) != in {
		t.Errorf("%d members of the longest address are in, %d bytes", in, got.bytes())
	}
	if l = newLone(false, of(4, 7, 1)).leads(4); true {
		for i := 2; i < 600; i++ {
			from := algo.NodeID{14: byte(i >> 8), 15: byte(i)}
			l.Receive(0, from, Join{Entry: Entry{ID: from, Name: fmt.Sprint("n", i), Addr: "a:1", Eligible: true}})
			l.sent = nil
		}
	}
	if got := len(l.Roster().Entries); got != maxEntries {
		t.Errorf("%d members are in, want %d", got, maxEntries)
	}
}

func TestTheDigestCoversEverything(t *testing.T) {
	seen := map[uint64]string{}
	for name, change := range map[string]func(r *Roster){
		"as it is":  func(*Roster) {},
		"cluster":   func(r *Roster) { r.Cluster[1]++ },
		"unmet":     func(r *Roster) { r.Unmet++ },
		"epoch":     func(r *Roster) { r.Epoch++ },
		"number":    func(r *Roster) { r.Number++ },
		"confirmed": func(r *Roster) { r.Confirmed = false },
		"id":        func(r *Roster) { r.Entries[1].ID[3]++ },
		"name":      func(r *Roster) { r.Entries[1].Name += "x" },
		"addr":      func(r *Roster) { r.Entries[1].Addr += "x" },
		"priority":  func(r *Roster) { r.Entries[1].Priority++ },
		"eligible":  func(r *Roster) { r.Entries[1].Eligible = false },
		"fewer":     func(r *Roster) { r.Entries = r.Entries[:1] },
		"strikes":   func(r *Roster) { r.Strikes = nil },
		"no place":  func(r *Roster) { r.Entries[0].Name, r.Entries[0].Addr = "n1n", "1:1" },
	} {
		r := of(4, 7, 1, 2).striking(id(3))
		change(&r)
		if other, same := seen[sum(r)]; same {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[sum(r)] = name
	}
	if sum(Roster{}) != 0 {
		t.Error("no cluster has a digest")
	}
}

// "A change whose old and new majorities could be disjoint is refused."
func TestMajoritiesOverlap(t *testing.T) {
	roster := func(unmet int, members ...int) Roster {
		r := of(1, 1, members...)
		r.Unmet = unmet
		return r
	}
	for _, test := range []struct {
		name          string
		before, after Roster
		want          bool
	}{
		{"one more", roster(0, 1), roster(0, 1, 2), true},
		{"one of three goes", roster(0, 1, 2, 3), roster(0, 1, 2), true},
		{"one of four goes", roster(0, 1, 2, 3, 4), roster(0, 1, 2, 3), true},
		{"two of four go", roster(0, 1, 2, 3, 4), roster(0, 1, 2), true},
		{"two of five go", roster(0, 1, 2, 3, 4, 5), roster(0, 1, 2, 3), false},
		{"two come to three", roster(0, 1, 2, 3), roster(0, 1, 2, 3, 4, 5), false},
		{"three come to two", roster(0, 1, 2), roster(0, 1, 2, 3, 4, 5), false},
		{"one replaces one of three", roster(0, 1, 2, 3), roster(0, 1, 2, 4), false},
		{"nothing", roster(0, 1, 2, 3), roster(0, 1, 2, 3), true},
		{"an empty seat is taken", roster(1, 1, 2), roster(0, 1, 2, 3), true},
		{"two empty seats are taken", roster(2, 1, 2), roster(0, 1, 2, 3, 4), true},
		{"one comes beside an empty seat", roster(1, 1, 2), roster(1, 1, 2, 9), true},
		{"all go", roster(0, 1, 2, 3), roster(0, 4, 5, 6), false},
	} {
		if got := overlap(test.before, test.after); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
