package engine

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

// A leader that another member hears is followed on, and the link is named. It is believed as long as that one
// says so, who may lie: a leader of which nobody hears anything is followed until the liar is gone.
func TestFalseProbeAckKeepsSilentLeader(t *testing.T) {
	var traced int
	e, _ := met(t, 3, func(c *Config) {
		c.Trace = func(event trace.Event) {
			if event.Kind == trace.Note && event.Format == "does not hear %s, but %s does" {
				traced++
			}
		}
	})
	var now time.Duration
	var links []trace.Event
	var called []algo.Call
	lies := true
	take := func(out *Output) {
		links, called = append(links, out.BrokenLinks...), append(called, out.Elections...)
		doubts := false
		for _, s := range out.Send {
			doubts = doubts || s.To == id(2) && s.Message == algo.Message(fd.Probe{Peer: id(3), Digest: e.Digest()})
		}
		if doubts && lies {
			now += ms
			links = append(links, e.Receive(now, id(2), fd.ProbeAck{Peer: id(3), Digest: e.Digest()}).BrokenLinks...)
		}
	}
	take(e.Receive(0, id(3), bully.Coordinator{Epoch: 7, Leader: id(3)}))
	run := func(end time.Duration) {
		for {
			at, due := e.Deadline()
			if !due || at > end {
				return
			}
			now = max(now, at)
			take(e.Wake(now))
		}
	}
	run(time.Minute)
	if l, _ := e.Leader(); l.ID != id(3) || len(called) != 0 || traced != 1 {
		t.Errorf("it follows %v, knows of the elections %v, and noted %d times that another hears its leader", l, called, traced)
	}
	if members := e.Members(); members[2].State != fd.Indirect || members[2].Since > detection().Timeout {
		t.Errorf("n3 is %v since %v, want hearsay since its first silence", members[2].State, members[2].Since)
	}
	lies = false
	run(time.Minute + 2*detection().Timeout)
	if l, _ := e.Leader(); l.ID == id(3) || len(called) == 0 || called[0] != (algo.Call{By: id(1), Why: fd.ReasonSilence, Left: id(3), Epoch: 7, Silence: detection().Timeout}) {
		t.Errorf("nobody says that n3 lives, and it follows %v, and knows of the elections %v", l, called)
	}
	if len(links) != 1 {
		t.Errorf("it told its host %d times of the link, want once", len(links))
	}
}

// The word of who is no member counts for nothing.
func TestProbeAckOfNonMemberIsIgnored(t *testing.T) {
	e, _ := met(t, 3, nil)
	e.Up(0, Peer{ID: id(9), Name: testMember(9).Name, Incarnation: 7, Digest: 0})
	for _, m := range []algo.Message{fd.Probe{Peer: id(3)}, fd.Probe{}, fd.ProbeAck{Peer: id(3)}} {
		for _, s := range e.Receive(0, id(9), m).Send {
			switch s.Message.(type) {
			case fd.Probe, fd.ProbeAck:
				t.Errorf("%+v of a stranger is answered with %+v to %s", m, s.Message, s.To)
			}
		}
	}
	if got := e.Counters()["strangers.beats"]; got != 3 {
		t.Errorf("%d of 3 messages are counted as those of strangers", got)
	}
}
