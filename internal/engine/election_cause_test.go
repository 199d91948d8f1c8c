package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
)

// The cause of an election is reported: the node that started it, its reason, and the previous leader.
func TestElectionCauseIsReported(t *testing.T) {
	call := func(by int, why string) algo.ElectionCause {
		return algo.ElectionCause{Caller: id(by), Reason: why, Previous: id(3), Epoch: 7}
	}
	silence := call(1, fd.ReasonSilence)
	silence.SilentFor = detection().Timeout
	for name, test := range map[string]struct {
		happens func(e *Engine) *Output
		want    []algo.ElectionCause
	}{
		"its address refuses": {func(e *Engine) *Output {
			e.Down(ms, id(3), false)
			return e.HandleDialFailure(2*ms, Target{ID: id(3), Addr: testMember(3).Addr}, fd.DialRefused)
		}, []algo.ElectionCause{call(1, fd.ReasonRefused)}},
		"it says goodbye": {func(e *Engine) *Output { return e.Receive(ms, id(3), Goodbye{}) }, []algo.ElectionCause{call(1, fd.ReasonGoodbye)}},
		"it is another process": {func(e *Engine) *Output {
			e.Down(ms, id(3), false)
			return e.Up(ms, Peer{ID: id(3), Name: testMember(3).Name, Incarnation: 8, Digest: e.Digest()})
		}, []algo.ElectionCause{call(1, fd.ReasonRestart)}},
		"a program asks":           {func(e *Engine) *Output { return e.Campaign(ms) }, []algo.ElectionCause{call(1, "campaign")}},
		"another says that it has": {func(e *Engine) *Output { return e.Receive(ms, id(2), bully.Coordinator{Epoch: 8, Leader: id(3)}) }, []algo.ElectionCause{call(2, "receive")}},
		"a follower is suspected":  {func(e *Engine) *Output { return e.Receive(ms, id(2), Goodbye{}) }, nil},
		"it is heard again":        {func(e *Engine) *Output { return e.Receive(ms, id(3), bully.Coordinator{Epoch: 7, Leader: id(3)}) }, nil},
		"nothing is heard": {func(e *Engine) *Output {
			for {
				at, _ := e.Deadline()
				if out := e.Wake(at); len(out.Elections) > 0 || at > time.Minute {
					return out
				}
			}
		}, []algo.ElectionCause{silence}},
	} {
		t.Run(name, func(t *testing.T) {
			e, out := met(t, 3, nil)
			if got := out.Elections; !slices.Equal(got, []algo.ElectionCause{{Caller: id(1), Reason: "start"}}) {
				t.Errorf("at its start it knows of %v", got)
			}
			if got := e.Receive(0, id(3), bully.Coordinator{Epoch: 7, Leader: id(3)}).Elections; len(got) > 0 {
				t.Errorf("%v is the end of one, not another", got)
			}
			if got := test.happens(e).Elections; !slices.Equal(got, test.want) {
				t.Errorf("it knows of %v, want %v", got, test.want)
			}
			counted := e.Counters()
			for _, c := range test.want {
				if counted["elections.start"] != 1 || counted["elections."+c.Reason] != 1 {
					t.Errorf("it counts %v, want one election by %s", counted, c.Reason)
				}
				if suspects := c.Caller == id(1) && c.Reason != "campaign"; suspects != (counted["suspicions."+c.Reason] == 1) {
					t.Errorf("it counts %v, want one suspicion by %s: %v", counted, c.Reason, suspects)
				}
			}
		})
	}
}
