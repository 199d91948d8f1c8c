package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

// "When a process is killed its kernel closes its sockets … refused → suspected now."
func TestAKilledLeaderIsReplacedWithinAMessageDelay(t *testing.T) {
	w := joined(t, 5)
	w.wantLeader(5)
	killed := w.now
	w.nodes[4].crash()
	for w.now < killed+time.Second {
		w.run(hop / 2)
		if !slices.ContainsFunc(w.nodes, func(h *host) bool { return h.up && h.leader.ID != id(4) }) {
			break
		}
	}
	// Half a hop to the end of the connection, two for the dial, one for the Coordinator.
	if took := w.now - killed; took > 4*hop {
		t.Errorf("it took %v, want at most %v", took, 4*hop)
	}
	w.nodes[3].crash() // with another one dead already
	w.run(4 * hop)
	w.wantLeader(3)
	epoch := w.nodes[2].leader.Epoch
	w.run(time.Minute)
	if got := w.nodes[2].leader.Epoch; got != epoch {
		t.Errorf("the epoch is %d a minute later, want %d: no needless election", got, epoch)
	}
}

func TestAStoppedLeaderIsReplacedAfterItsTimeout(t *testing.T) {
	w := joined(t, 3)
	w.nodes[2].paused = true
	w.run(timeout + 4*interval)
	w.wantLeader(2)
	w.run(10 * time.Second)
	w.nodes[2].resume()
	w.run(2 * time.Second)
	w.wantLeader(3)
	epoch := w.nodes[0].leader.Epoch
	w.run(time.Minute)
	if got := w.nodes[0].leader.Epoch; got != epoch {
		t.Errorf("the epoch went from %d to %d with nothing to do", epoch, got)
	}
}

// "A node that itself did not run suspects nobody for it."
func TestAFollowerThatDidNotRunSuspectsNobody(t *testing.T) {
	for _, pause := range []time.Duration{timeout, time.Second, time.Minute} {
		w := joined(t, 3)
		epoch := w.nodes[0].leader.Epoch
		w.nodes[0].paused = true
		w.run(pause)
		w.nodes[0].resume()
		w.run(time.Minute)
		w.wantLeader(3)
		if got := w.nodes[0].leader.Epoch; got != epoch {
			t.Errorf("a pause of %v: the epoch went from %d to %d", pause, epoch, got)
		}
	}
}

func TestAGoodbyeIsFollowedByAnElectionAtOnce(t *testing.T) {
	w := joined(t, 3)
	w.nodes[2].stop()
	w.run(2 * hop)
	w.wantLeader(2)
	if w.kinds["goodbye"] != 2 {
		t.Errorf("%d goodbyes, want one for each peer", w.kinds["goodbye"])
	}
	w.wantView(1, 2, 3) // it stays a member
	for _, m := range w.nodes[0].engine.Members() {
		want := map[algo.NodeID]fd.State{id(1): fd.Alive, id(2): fd.Alive, id(3): fd.Suspected}[m.ID]
		if m.State != want {
			t.Errorf("%s is %v, want %v", m.Name, m.State, want)
		}
	}
	w.nodes[2].start()
	w.run(time.Second)
	w.wantLeader(3)
}

func TestAPartitionHeals(t *testing.T) {
	w := joined(t, 4)
	for _, a := range []string{"n1", "n2"} {
		for _, b := range []string{"n3", "n4"} {
			w.cut[[2]string{a, b}] = true
		}
	}
	w.run(5 * time.Second)
	if a, b := w.nodes[0].leader.ID, w.nodes[3].leader.ID; a != id(2) || b != id(4) {
		t.Fatalf("the sides follow %v and %v, want n2 and n4", a, b)
	}
	w.add(testMember(5), joins(addr(1))).start() // each side changes its membership
	w.cut[[2]string{"n5", "n3"}], w.cut[[2]string{"n5", "n4"}] = true, true
	w.add(testMember(6), joins(addr(4)))
	for _, a := range []string{"n1", "n2", "n5"} {
		w.cut[[2]string{a, "n6"}] = true
	}
	w.nodes[5].start()
	w.run(5 * time.Second)
	clear(w.cut)
	w.run(10 * time.Second)
	w.wantView(1, 2, 3, 4, 5, 6)
	w.wantLeader(6)
}

func TestResignAndReenter(t *testing.T) {
	w := joined(t, 3)
	three := w.nodes[2]
	three.perform(three.engine.Resign(w.now, 2*time.Second))
	w.run(20 * hop)
	w.wantLeader(2)
	three.perform(three.engine.Resign(w.now, time.Second)) // again: the time counts anew
	w.run(900 * ms)
	w.wantLeader(2)
	w.run(300 * ms)
	w.wantLeader(3)
	w.wantView(1, 2, 3)

	// A resignation ends with the process.
	three.perform(three.engine.Resign(w.now, time.Hour))
	w.run(20 * hop)
	w.wantLeader(2)
	three.crash()
	w.run(time.Second)
	three.start()
	w.run(2 * time.Second)
	w.wantLeader(3)

	// Periods that make no sense.
	three.perform(three.engine.Resign(w.now, -time.Hour))
	w.run(time.Second)
	w.wantLeader(3)
	three.perform(three.engine.Resign(w.now, 1<<63-1))
	w.run(time.Minute)
	w.wantLeader(2)
}

func TestAWitnessNeverLeads(t *testing.T) {
	w := joined(t, 2)
	m := testMember(3)
	m.Eligible = false
	h := w.add(m, joins(addr(1))).start()
	w.run(time.Second)
	w.wantLeader(2)
	h.perform(h.engine.Resign(w.now, time.Second))
	w.run(5 * time.Second)
	w.wantLeader(2)
	h.perform(h.engine.Campaign(w.now))
	w.run(time.Second)
	w.wantLeader(2)
}

// One poisoned roster must not put the node that believes it out of reach of the others:
// what they do not believe at first moves what they believe.
func TestOnePoisonedRosterIsOvercome(t *testing.T) {
	for _, ahead := range []algo.Epoch{algo.MaxEpochLead - 1<<16, algo.MaxEpochLead} {
		w := joined(t, 3)
		r := w.nodes[0].engine.rosters.Roster()
		r.Epoch += ahead
		r.Entries = slices.Clone(r.Entries)
		for i := range r.Entries {
			if r.Entries[i].ID == id(3) {
				r.Entries[i].Eligible = false
			}
		}
		w.nodes[2].perform(w.nodes[2].engine.Receive(w.now, id(2), r))
		w.run(5 * time.Second)
		w.wantView(1, 2, 3)
		w.wantLeader(3)
		before := w.refused()
		w.run(time.Minute)
		if again := w.refused() - before; again > 0 {
			t.Errorf("%d ahead: %d messages refused in a minute, when all should be well", ahead, again)
		}
	}
}

// Nobody else decides what a node is, except that it was removed.
func TestANodeKnowsBestWhatItIs(t *testing.T) {
	w := joined(t, 3)
	r := w.nodes[0].engine.rosters.Roster()
	r.Number++
	r.Entries = slices.Clone(r.Entries)
	for i := range r.Entries {
		if r.Entries[i].ID == id(3) {
			r.Entries[i].Eligible = false
			r.Entries[i].Addr = "elsewhere:1"
		}
	}
	w.nodes[0].perform(w.nodes[0].engine.Receive(w.now, id(2), r))
	w.run(5 * time.Second)
	for _, h := range w.nodes {
		if m, _ := h.engine.View().Member(id(3)); m != testMember(3) {
			t.Errorf("%s knows n3 as %+v", h.config.Self.Name, m)
		}
	}
	w.wantView(1, 2, 3)
	w.wantLeader(3)
}

// "An epoch of 2⁶⁴−1, or more than 2³² ahead, is refused, counted and never saved."
func TestPoisonIsRefused(t *testing.T) {
	entries := func(change func(r *Roster)) Roster {
		r := Roster{Cluster: algo.NodeID{0: 99}, Epoch: 1, Number: 2, Confirmed: true, Entries: []Entry{
			{ID: id(1), Name: "n1", Addr: addr(1), Eligible: true},
			{ID: id(2), Name: "n2", Addr: addr(2), Eligible: true},
		}}
		change(&r)
		return r
	}
	many := func(count int, name string) func(*Roster) {
		return func(r *Roster) {
			for i := range count {
				r.Entries = append(r.Entries, Entry{ID: id(i + 3), Name: name + addr(i), Addr: addr(i + 3)})
			}
		}
	}
	election, _ := frames.Decode([]byte("\x92\xa8election\x01"))
	if election == nil {
		t.Fatal("an election of epoch 1 is encoded otherwise")
	}
	decode := func(text string) algo.Message {
		m, err := frames.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, m := range map[string]algo.Message{
		"the largest epoch":          decode("\x92\xa8election\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
		"no cluster":                 entries(func(r *Roster) { r.Cluster = algo.NodeID{} }),
		"another cluster":            entries(func(r *Roster) { r.Cluster = algo.NodeID{1} }),
		"seats beyond number":        entries(func(r *Roster) { r.Unmet = 513 }),
		"a negative number of seats": entries(func(r *Roster) { r.Unmet = -1 }),
		"not sorted":                 entries(func(r *Roster) { slices.Reverse(r.Entries) }),
		"doubled":                    entries(func(r *Roster) { r.Entries[1] = r.Entries[0] }),
		"nobody":                     entries(func(r *Roster) { r.Entries[0].ID = algo.NodeID{} }),
		"without the sender":         entries(func(r *Roster) { r.Entries = r.Entries[:1] }),
		"the largest roster epoch":   entries(func(r *Roster) { r.Epoch = 1<<64 - 1 }),
		"a roster epoch far ahead":   entries(func(r *Roster) { r.Epoch += 1 << 34 }),
		"the largest number":         entries(func(r *Roster) { r.Number = 1<<64 - 1 }),
		"a number far ahead":         entries(func(r *Roster) { r.Number += 1 << 34 }),
		"a number and no epoch":      entries(func(r *Roster) { r.Epoch = 0 }),
		"no name":                    entries(func(r *Roster) { r.Entries[1].Name = "" }),
		"a name for the log":         entries(func(r *Roster) { r.Entries[1].Name = "n2\nlevel=ERROR" }),
		"no address":                 entries(func(r *Roster) { r.Entries[1].Addr = "" }),
		"too many members":           entries(many(512, "n")),
		"members of too many bytes":  entries(many(400, strings.Repeat("n", 50)+strings.Repeat("x", 60))),
		"a beat every nanosecond":    fd.Watch{Interval: 1, Lease: time.Second},
		"a join for another":         Join{Entry: Entry{ID: id(3), Name: "n3", Addr: addr(3)}},
		"a join without a name":      Join{Entry: Entry{ID: id(2), Addr: addr(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			e := solo(t, nil)
			e.Start(0)
			e.Receive(0, id(2), Join{Entry: Entry{ID: id(2), Name: "n2", Addr: addr(2), Eligible: true}})
			digest, stable, leader := e.Digest(), e.machine.Stable(), e.machine.Leader()
			for time := range 3 { // to say it again does not help
				out := e.Receive(ms, id(2), m)
				if len(out.Refuse) != 1 || out.Refuse[0].Peer != id(2) || !strings.HasPrefix(out.Refuse[0].Reason.Error(), "engine: refused ") {
					t.Errorf("refused %v, want one refusal of n2", out.Refuse)
				}
				if got := e.Counters()["refused"]; got != uint64(time+1) {
					t.Errorf("counted %d, want %d", got, time+1)
				}
				if len(out.Save)+len(out.Leaders) > 0 || out.ViewChanged || out.End != nil || e.Digest() != digest ||
					e.machine.Stable() != stable || e.machine.Leader() != leader {
					t.Errorf("it changed something: %+v", out)
				}
			}
		})
	}
}

// A stranger's frames change nothing. It is shown the members, at most once in a pause: it may be
// one who does not know yet that it is none.
func TestStrangersAreShownTheMembers(t *testing.T) {
	e := solo(t, nil)
	e.Start(0)
	told := 0
	for _, m := range []algo.Message{bullySpec().Messages[0], fd.Beat{}, fd.Watch{}, Goodbye{}, Propose{}, Held{}, Stand{}} {
		out := e.Receive(0, id(2), m)
		for _, s := range out.Send {
			if _, ok := s.Message.(Roster); ok && s.To == id(2) {
				told++
			}
		}
		if len(out.Refuse)+len(out.Save)+len(out.Leaders) > 0 || out.ViewChanged {
			t.Errorf("%s: %+v", m.Kind(), out)
		}
	}
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
	e.Receive(0, id(2), Join{}) // which anybody may say
	got := e.Counters()
	maps.DeleteFunc(got, func(name string, _ uint64) bool { return !strings.HasPrefix(name, "strangers.") })
	if want := (map[string]uint64{"strangers.elections": 1, "strangers.beats": 3, "strangers.membership": 3}); !maps.Equal(got, want) {
		t.Errorf("of its frames are counted %v, want %v", got, want)
	}
	for _, from := range []algo.NodeID{{}, id(1)} {
		e.Up(0, Peer{ID: from, Incarnation: 1, Digest: 1})
		for _, m := range append(Messages(), bullySpec().Messages...) {
			if out := e.Receive(0, from, m); len(out.Refuse) != 1 || len(out.Send) != 0 {
				t.Errorf("%s from %v: %+v", m.Kind(), from, out)
			}
		}
	}
	if len(e.links) != 0 {
		t.Error("it is connected with itself")
	}
	// A connection of a stranger leaves nothing behind.
	for i := range 1000 {
		e.Up(0, Peer{ID: id(i + 2), Incarnation: 1, Digest: 77})
		e.Down(0, id(i+2), false)
	}
	if len(e.links) != 0 {
		t.Errorf("%d connections are kept of strangers who are gone", len(e.links))
	}
}

func TestCountersDoNotGrow(t *testing.T) {
	e := solo(t, nil)
	e.Start(0)
	for i := range 100 {
		e.Receive(0, id(2), odd(strings.Repeat("x", i)))
	}
	want := map[string]uint64{"received.other": 100, "strangers.elections": 100, "elections.start": 1, "sent.view": 1, "sent.beat": 0, "received.beat": 0, "refused": 0}
	if got := e.Counters(); !maps.Equal(got, want) {
		t.Errorf("counted %v, want all as one kind", got)
	}
}

type odd string

func (o odd) Kind() string { return string(o) }

func TestCountersCountBeatsApart(t *testing.T) {
	w := joined(t, 3)
	before := w.nodes[2].engine.Counters()
	w.run(time.Minute)
	after := w.nodes[2].engine.Counters()
	for name, count := range after {
		if beats := strings.HasSuffix(name, ".beat"); beats == (count == before[name]) {
			t.Errorf("%s went from %v to %v with nothing to do", name, before[name], count)
		}
	}
	// 1.3 frames per node and interval at most, with the repeats.
	var frames uint64
	for _, h := range w.nodes {
		frames += h.engine.Counters()["sent.beat"]
	}
	if perNode := float64(frames) / 3 / float64(w.now/interval); perNode > 1.3 {
		t.Errorf("%.2f frames per node and interval", perNode)
	}
}

// "An engine's Output holds at most one save: all changed records in one transaction."
func TestOneSaveWithAllThatChanged(t *testing.T) {
	e := solo(t, nil)
	out := e.Start(0)
	var kinds []string
	for _, m := range out.Save {
		kinds = append(kinds, m.Kind())
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"stable", "view"}) {
		t.Errorf("it saves %v, want both records", kinds)
	}
	if out := e.Wake(time.Second); len(out.Save) != 0 {
		t.Errorf("nothing changed, and it saves %v", out.Save)
	}
	// What is saved shares nothing with what changes.
	out = e.Receive(0, id(2), Join{Entry: Entry{ID: id(2), Name: "n2", Addr: addr(2)}})
	at := slices.IndexFunc(out.Save, func(m algo.Message) bool { return m.Kind() == "view" })
	saved := out.Save[at].(Roster)
	e.Resign(0, time.Second)
	if !saved.Entries[0].Eligible {
		t.Error("a record changed after it was handed over")
	}
}

// Whoever crashes after a save has told nobody; and comes back with what it saved.
func TestACrashBetweenSaveAndSend(t *testing.T) {
	for lives := range 4 {
		w := joined(t, 3)
		two := w.nodes[1]
		for range lives + 1 {
			before := w.nodes[0].leader
			two.dieAtSave = 1
			w.nodes[2].crash()
			w.run(time.Second)
			if two.up {
				t.Fatal("n2 saved nothing")
			}
			saved := two.disk["stable"].(Kept).Epoch
			if saved <= before.Epoch {
				t.Errorf("n2 saved epoch %d after %d", saved, before.Epoch)
			}
			two.start()
			w.nodes[2].start()
			w.run(3 * time.Second)
			w.wantLeader(3)
			if got := w.nodes[0].leader.Epoch; got < saved {
				t.Errorf("epoch %d after one of %d was saved", got, saved)
			}
		}
	}
	// A joiner that crashes right after it was let in.
	w := joined(t, 2)
	h := w.add(testMember(3), joins(addr(1)))
	h.dieAtSave = 1
	h.start()
	w.run(time.Second)
	if h.up {
		t.Fatal("n3 saved nothing")
	}
	h.start()
	w.run(3 * time.Second)
	w.wantView(1, 2, 3)
	w.wantLeader(3)
}

// "The view may change while an election is on."
func TestAViewChangesInARunningElection(t *testing.T) {
	for wait := time.Duration(0); wait < 8*hop; wait += hop / 4 {
		w := joined(t, 4)
		w.nodes[3].crash()
		w.add(testMember(9), joins(addr(1))).start()
		w.run(wait)
		w.nodes[1].perform(w.nodes[1].engine.Resign(w.now, time.Hour))
		w.nodes[2].perform(w.nodes[2].engine.Campaign(w.now))
		w.run(5 * time.Second)
		w.wantView(1, 2, 3, 4, 9)
		w.wantLeader(9)
	}
}

// Same seed, same bytes out, over the maps of Go with their random order.
func TestSameSeedSameBytes(t *testing.T) {
	for _, spec := range []algo.Spec{bullySpec(), voteSpec()} {
		t.Run(spec.Name, func(t *testing.T) { sameBytes(t, spec) })
	}
}

func sameBytes(t *testing.T, spec algo.Spec) {
	run := func() string {
		w := newWorld(t)
		w.log = new(strings.Builder)
		w.joiners(spec, 5)
		w.run(3 * time.Second)
		w.nodes[4].crash()
		w.run(time.Second)
		w.add(testMember(9), by(spec, joins(addr(1), addr(2)))).start()
		w.nodes[4].start()
		w.cut[[2]string{"n1", "n5"}] = true
		w.run(3 * time.Second)
		clear(w.cut)
		w.nodes[0].perform(w.nodes[0].engine.Resign(w.now, time.Second))
		w.run(3 * time.Second)
		return w.log.String()
	}
	first := run()
	for range 5 {
		if again := run(); again != first {
			a, b := strings.Split(first, "\n"), strings.Split(again, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Fatalf("line %d:\n%s\n%s", i, a[i], b[i])
				}
			}
			t.Fatal("one is longer")
		}
	}
}

// An idle node is woken a few times an interval, never in a loop. (The host fails when a
// wake leaves a deadline that has passed.)
func TestIdleNodesAreRarelyWoken(t *testing.T) {
	for _, size := range []int{1, 5, 20} {
		w := joined(t, size)
		w.wakes = 0
		w.run(100 * interval)
		perNode := float64(w.wakes) / float64(size) / 100
		t.Logf("N=%d: %.2f wakes per node and interval", size, perNode)
		if perNode > 1.5 {
			t.Errorf("N=%d: %.2f wakes per node and interval", size, perNode)
		}
	}
	w := newWorld(t)
	for i := 1; i <= 3; i++ {
		w.add(testMember(i), fixed(9)).start() // six never come
	}
	w.run(10 * time.Second)
	w.wakes = 0
	w.run(10 * time.Second)
	if w.wakes > 3*(10*6+10*20*2) {
		t.Errorf("%d wakes in 10s while members are missing", w.wakes)
	}
}

// Two nodes that never come to agree do not keep each other busy.
func TestRostersThatCannotAgreeAreExchangedRarely(t *testing.T) {
	e := solo(t, nil)
	e.Start(0)
	e.Up(0, Peer{ID: id(2), Incarnation: 7, Digest: 0})
	theirs := Entry{ID: id(2), Name: "n2", Addr: addr(2), Eligible: true}
	e.Receive(0, id(2), Join{Entry: theirs})
	stubborn := Roster{Cluster: algo.NodeID{0: 99}, Entries: []Entry{theirs}} // knows nobody but itself
	sent := 0
	count := func(out *Output) {
		for _, s := range out.Send {
			if s.Message.Kind() == "view" {
				sent++
			}
		}
	}
	const period = 10 * time.Second
	for now := time.Duration(0); now < period; now += ms {
		count(e.Receive(now, id(2), stubborn))
		count(e.Receive(now, id(2), fd.Beat{View: 5}))
		if deadline, due := e.Deadline(); due && deadline <= now {
			count(e.Wake(now))
		}
	}
	if most := int(period/(100*ms)) + 1; sent > most || sent < 10 {
		t.Errorf("%d rosters in %v of constant disagreement, want at most %d", sent, period, most)
	}

	// One that claims our entry for something else, again and again.
	sent = 0
	for now := period; now < 2*period; now += ms {
		own := Entry{ID: id(1), Name: "n1", Addr: addr(1)}
		count(e.Receive(now, id(2), Roster{Cluster: algo.NodeID{0: 99}, Epoch: 1, Number: 1, Confirmed: true, Entries: []Entry{own, theirs}}))
		if deadline, due := e.Deadline(); due && deadline <= now {
			count(e.Wake(now))
		}
	}
	if most := int(period/(100*ms)) + 1; sent > most {
		t.Errorf("%d rosters in %v of constant contradiction, want at most %d", sent, period, most)
	}
}

// Two that do not watch each other show each other no digest. Who speaks to this node, and
// has not shown that it has the roster of now, is told it; who has shown it is not.
func TestWhoSpeaksAndMayNotKnowTheMembersIsTold(t *testing.T) {
	e := solo(t, nil)
	e.Start(0)
	for i := 2; i <= 3; i++ { // that of n3 is lost on its way to n2
		e.Receive(0, id(i), Join{Entry: Entry{ID: id(i), Name: fmt.Sprintf("n%d", i), Addr: addr(i), Eligible: true}})
	}
	told := func(now time.Duration) (count int) {
		for _, s := range e.Receive(now, id(2), bullySpec().Messages[0]).Send {
			if r, ok := s.Message.(Roster); ok && s.To == id(2) && len(r.Entries) == 3 {
				count++
			}
		}
		return count
	}
	if got := told(time.Second); got != 1 {
		t.Errorf("n2, which has not heard of n3, is told %d times, want once", got)
	}
	e.Receive(2*time.Second, id(2), fd.Beat{View: e.Digest()})
	if got := told(3 * time.Second); got != 0 {
		t.Errorf("n2, which has shown that it knows, is told %d times", got)
	}
}

// What is held back is not lost: it is told after the pause, though nobody asks again.
func TestARosterThatWasHeldBackIsToldAfterThePause(t *testing.T) {
	r := settled(3)
	e := solo(t, nil, r)
	e.Start(0)
	views := func(out *Output) (told []Roster) {
		for _, s := range out.Send {
			if r, ok := s.Message.(Roster); ok && s.To == id(2) {
				told = append(told, r)
			}
		}
		return told
	}
	if got := views(e.Up(0, Peer{ID: id(2), Incarnation: 7, Digest: 5})); len(got) != 1 {
		t.Errorf("n2, which shows another digest, is told %d times", len(got))
	}
	r.Epoch, r.Number, r.Confirmed = 1, 1, true
	e.Receive(10*ms, id(3), r)
	if got := views(e.Receive(20*ms, id(2), fd.Beat{View: 5})); len(got) != 0 {
		t.Errorf("n2 is told twice within 20ms")
	}
	var told []Roster
	for {
		deadline, due := e.Deadline()
		if !due || deadline > time.Second {
			break
		}
		told = append(told, views(e.Wake(deadline))...)
	}
	if len(told) != 1 || told[0].Epoch != 1 {
		t.Errorf("n2 is told %v, want the later roster once", told)
	}
}

// A restart with nothing new costs no exchange: the hellos show that all is known.
func TestARestartTellsNobodyWhatIsKnown(t *testing.T) {
	w := joined(t, 4)
	w.nodes[1].crash()
	w.run(time.Second)
	before := w.kinds["view"]
	w.nodes[1].start()
	w.run(2 * time.Second)
	if got := w.kinds["view"] - before; got != 0 {
		t.Errorf("%d rosters were sent", got)
	}
	w.wantLeader(4)
}

func TestTheTraceTellsEverything(t *testing.T) {
	var events []trace.Event
	w := newWorld(t)
	w.add(testMember(1), traced(&events)).start()
	w.add(testMember(2), joins(addr(1))).start()
	w.run(2 * time.Second)
	w.nodes[1].crash()
	w.run(time.Second)
	w.nodes[1].start()
	w.run(time.Second)
	one := w.nodes[0]
	one.perform(one.engine.Receive(w.now, id(50), fd.Beat{}))
	seen := map[trace.Kind]bool{}
	for _, e := range events {
		seen[e.Kind] = true
		if e.Node != id(1) {
			t.Fatalf("%v happened at %v", e.Kind, e.Node)
		}
	}
	for _, kind := range []trace.Kind{trace.Start, trace.Send, trace.Deliver, trace.Drop, trace.SetTimer, trace.Suspect,
		trace.Save, trace.Announce, trace.View, trace.Expire, trace.Note} {
		if !seen[kind] {
			t.Errorf("no event %q", kind)
		}
	}
}

// What a member says in an epoch too far ahead is refused, and believed when it says it again: who
// was poisoned leads on from there.
func TestPoisonOfAMemberIsOvercome(t *testing.T) {
	r := settled(3)
	e := solo(t, nil, r)
	e.Start(0)
	e.Up(0, Peer{ID: id(3), Incarnation: 7, Digest: e.Digest()})
	said := func(now time.Duration, epoch algo.Epoch, refused int) {
		t.Helper()
		if out := e.Receive(now, id(3), bully.Answer{Epoch: epoch}); len(out.Refuse) != refused {
			t.Errorf("epoch %d at %v: refused %v", epoch, now, out.Refuse)
		}
	}
	said(0, 9+1<<33, 1)
	said(ms, 9+1<<33, 1) // not twice in a second
	said(time.Second, 9+1<<33, 0)
	if e.machine.Stable().Epoch < 1<<33 {
		t.Errorf("its epoch is %d", e.machine.Stable().Epoch)
	}
	said(2*time.Second, 9+1<<34, 0) // at once, where 2³² more are enough: in a ring nobody says it again for long
}

// Who comes with a file of another time tells its roster first: that moves what is believed of
// elections, too, for it may not move twice in a second.
func TestWhatIsBelievedOfARosterIsBelievedOfAnElection(t *testing.T) {
	r := settled(3)
	e := solo(t, nil, r)
	e.Start(0)
	e.Up(0, Peer{ID: id(3), Incarnation: 7, Digest: e.Digest()})
	r.Epoch, r.Number = 1<<34, 1
	for i, m := range []algo.Message{r, bully.Answer{Epoch: 1 << 33}} {
		if out := e.Receive(0, id(3), m); len(out.Refuse) != 1-i {
			t.Errorf("%s: refused %v", m.Kind(), out.Refuse)
		}
	}
}

// Who asks for heartbeats may be heard of as a member only after that. It gets them.
func TestWhatANewcomerSaidBeforeTheRosterIsHeard(t *testing.T) {
	var heard int
	e := solo(t, func(c *Config) {
		c.Trace = func(event trace.Event) {
			if event.Kind == trace.Note && strings.HasPrefix(event.Format, "hears what") {
				heard++
			}
		}
	})
	e.Start(0)
	e.Up(0, Peer{ID: id(2), Incarnation: 7, Digest: 0})
	e.Receive(0, id(2), bully.Coordinator{Epoch: 7, Leader: id(2)})
	e.Receive(0, id(2), bully.Coordinator{Epoch: 8, Leader: id(2)})
	e.Receive(0, id(2), fd.Beat{})
	if l, _ := e.Leader(); l.ID != id(1) || heard != 0 {
		t.Fatalf("it follows %v, whom a stranger names", l)
	}
	e.Receive(0, id(2), Join{Entry: Entry{ID: id(2), Name: "n2", Addr: addr(2), Eligible: true}})
	if l, _ := e.Leader(); l != (algo.Leader{Epoch: 8, ID: id(2)}) || heard != 1 {
		t.Errorf("it follows %v, and has heard %d messages: want the last of what the newcomer said, once", l, heard)
	}
}

func TestAWatchBeforeTheRosterCounts(t *testing.T) {
	e := solo(t, nil)
	e.Start(0)
	e.Up(0, Peer{ID: id(2), Incarnation: 7, Digest: 0})
	e.Receive(0, id(2), fd.Watch{Interval: interval, Lease: 10 * interval})
	e.Receive(0, id(2), Join{Entry: Entry{ID: id(2), Name: "n2", Addr: addr(2), Eligible: true}})
	beats := 0
	for {
		deadline, due := e.Deadline()
		if !due || deadline > 5*interval {
			break
		}
		for _, s := range e.Wake(deadline).Send {
			if _, ok := s.Message.(fd.Beat); ok && s.To == id(2) {
				beats++
			}
		}
	}
	if beats < 3 {
		t.Errorf("%d beats in five intervals", beats)
	}
}
