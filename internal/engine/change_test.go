package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
)

func TestStateOfOtherAlgorithmRaisesEpoch(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kept  SavedState
		start algo.HardState
		save  bool
	}{
		{"its own is handed back",
			SavedState{Epoch: 5, Vote: id(2), Extra: "x", Algorithm: "probe"},
			algo.HardState{Epoch: 5, Vote: id(2), Extra: "x"}, false},
		{"of another one only the epoch counts, which does not go back",
			SavedState{Epoch: 5, Vote: id(2), Extra: "x", Algorithm: "vote"},
			algo.HardState{Epoch: 5 + algorithmChangeGap}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &probe{}
			e := solo(t, func(c *Config) { c.Spec = p.spec() }, tc.kept)
			out := e.Start(0)
			if p.stable != tc.start {
				t.Errorf("it starts from %+v, want %+v", p.stable, tc.start)
			}
			var saved *SavedState
			for _, m := range out.Save {
				if k, ok := m.(SavedState); ok {
					saved = &k
				}
			}
			if (saved != nil) != tc.save {
				t.Fatalf("it saves %+v, want that %v", out.Save, tc.save)
			}
			// The new epoch is saved before it is used, under the name of this algorithm. So the next start neither
			// skips epochs again nor finds the vote.
			if want := (SavedState{Epoch: tc.start.Epoch, Algorithm: "probe"}); saved != nil && *saved != want {
				t.Errorf("it saves %+v, want %+v", *saved, want)
			}
		})
	}
}

// An algorithm that was configured by mistake and never ran does not replace the saved state of the previous one.
func TestUnstartedAlgorithmKeepsSavedState(t *testing.T) {
	p := &probe{}
	out := solo(t, func(c *Config) {
		c.Spec = p.spec()
		c.Spec.Claims.NeedsQuorum = true
		listed(3)(c)
	}, SavedState{Epoch: 5, Vote: id(2), Algorithm: "vote"}).Start(0)
	for _, m := range out.Save {
		if k, ok := m.(SavedState); ok {
			t.Errorf("it saves %+v before it runs", k)
		}
	}
	if len(p.said) > 0 {
		t.Errorf("it runs: %q", p.said)
	}
}

// A node that was down, or did not vote, when its config was written has saved an earlier epoch. It continues from the
// config term: its vote in an earlier epoch would come too late.
func TestRestartContinuesFromConfigTerm(t *testing.T) {
	r := committed(3)
	r.Config.ID.Term = 9
	e := solo(t, by(voteSpec()), r, SavedState{Epoch: 4, Algorithm: voteSpec().Name})
	var epochs []algo.Epoch
	kept := func(out *Output) {
		for _, m := range out.Save {
			if k, ok := m.(SavedState); ok {
				epochs = append(epochs, k.Epoch)
			}
		}
	}
	kept(e.Start(0))
	for at, ok := e.Deadline(); ok && at < 10*time.Second; at, ok = e.Deadline() {
		kept(e.Wake(at))
	}
	if len(epochs) == 0 || slices.Min(epochs) < 9 {
		t.Errorf("it takes part in the epochs %v, want some, and all from 9", epochs)
	}
}

// Three nodes stop and start again with another algorithm, several times. The epoch of the leader increases each time.
func TestAlgorithmChange(t *testing.T) {
	timing := algo.Timing{RoundTrip: 20 * ms, Heartbeat: interval}
	must := func(spec algo.Spec, err error) algo.Spec {
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	bullys := frames
	t.Cleanup(func() { frames = bullys })
	w := newCluster(t, bullySpec(), 3)
	before, _ := w.nodes[0].engine.Leader()
	for _, spec := range []algo.Spec{
		must(vote.New(vote.Defaults(timing))), must(ring.New(ring.Defaults(timing))),
		must(vote.New(vote.Defaults(timing))), must(bully.New(bully.Defaults(timing))),
	} {
		for _, h := range w.nodes {
			h.stop()
			h.config.Spec = spec
		}
		w.run(time.Second)
		frames = codec(append(Messages(), spec.Messages...)...)
		for _, h := range w.nodes {
			h.start()
		}
		w.run(3 * time.Second)
		w.wantView(1, 2, 3)
		now, _ := w.nodes[0].engine.Leader()
		for _, h := range w.nodes {
			if l, _ := h.engine.Leader(); l != now || l.IsVacant() {
				t.Errorf("%s: n%d follows %+v, n1 %+v", spec.Name, h.config.Self.ID[15], l, now)
			}
		}
		if now.Epoch <= before.Epoch {
			t.Errorf("%s: epoch %d after epoch %d", spec.Name, now.Epoch, before.Epoch)
		}
		before = now
	}
}

// The longest Extra of an algorithm fits in its record.
func TestLargestSavedStateFits(t *testing.T) {
	if _, err := records.Append(nil, SavedState{Extra: strings.Repeat("x", algo.MaxExtra)}); err != nil {
		t.Error(err)
	}
}
