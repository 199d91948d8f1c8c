package membership

import (
	"slices"
	"testing"

	"github.com/elect-go/elect/algo"
)

// Survivors that knew something else write rosters of one stamp. When they meet, one takes over the
// other's, and what it had struck itself is asked for until it is struck there too.
func TestRecoveredRostersOfOneStampMeet(t *testing.T) {
	records := func(self int, before Roster) []algo.Message {
		r, err := Recover(id(self), []string{member(1).Name, member(2).Name}, 9, before)
		if err != nil {
			t.Fatal(err)
		}
		return r.Records
	}
	older := records(1, of(7, 3, 1, 2, 3, 4))[0].(Roster)
	newer := records(2, of(8, 1, 1, 2, 4, 5))[0].(Roster)
	if older.Stamp() != newer.Stamp() {
		t.Fatalf("the stamps are %v and %v, want one", older.Stamp(), newer.Stamp())
	}
	taken := 0
	for _, rosters := range [][2]Roster{{older, newer}, {newer, older}} {
		mine, theirs := rosters[0], rosters[1]
		l := newLone(true, mine).follows(2, 9)
		l.connects(2, "")
		l.hears(2, theirs)
		if show(l.Roster()) == show(mine) {
			continue // the other one takes over ours
		}
		taken++
		l.want(t, "the lower digest", show(theirs))
		proposed := l.said(2, "propose")
		for _, struck := range mine.Strikes {
			asks := slices.ContainsFunc(proposed, func(m algo.Message) bool { return m.(Propose).Gone && m.(Propose).Entry.ID == struck })
			if !theirs.struck(struck) && !asks {
				t.Errorf("it proposes %v, want the strike of %v as well", proposed, struck)
			}
		}
		if len(proposed) == 0 {
			t.Error("it has nothing to ask for, want its own strikes")
		}
	}
	if taken != 1 {
		t.Errorf("%d of two take over the roster of the other, want one", taken)
	}
}

// A survivor that had moved on by more than the grid of epochs is believed by the other.
func TestRecoveredRostersOfTwoEpochsMeet(t *testing.T) {
	for _, ahead := range []algo.Epoch{leap - 1, leap, 2*leap - 1} {
		near, err := Recover(id(1), []string{"n1", "n2"}, leap-1, of(7, 3, 1, 2, 3, 4))
		if err != nil {
			t.Fatal(err)
		}
		far, err := Recover(id(2), []string{"n1", "n2"}, ahead, of(7, 3, 1, 2, 3, 4))
		if err != nil {
			t.Fatal(err)
		}
		l := newLone(true, near.Records[0].(Roster))
		l.connects(2, "")
		l.hears(2, far.Records[0])
		if got := l.Roster().Epoch; got != far.Epoch || (far.Epoch == near.Epoch) != (ahead < leap) {
			t.Errorf("epochs %d and %d: it has the roster of epoch %d, want %d", leap-1, ahead, got, far.Epoch)
		}
	}
}

// Where epochs end nothing is recovered: the next roster would be an earlier one.
func TestRecoverNearTheLastEpoch(t *testing.T) {
	const last = 1<<64 - leap // on the grid
	for _, test := range []struct {
		taken, roster algo.Epoch
		enough        bool
	}{
		{last - leap - 1, 7, true},
		{last - leap, 7, false},
		{1<<64 - 1, 7, false},
		{7, last - leap - 1, true},
		{7, last - leap, false},
	} {
		r, err := Recover(id(1), []string{"n1", "n2"}, test.taken, of(test.roster, 3, 1, 2, 3))
		if (err == nil) != test.enough || err == nil && r.Epoch != last {
			t.Errorf("after epochs %d and %d: epoch %d, error %v; want enough %v", test.taken, test.roster, r.Epoch, err, test.enough)
		}
	}
}
