package engine

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/trace"
)

// A node follows a leader that it does not hear and another member hears, and reports the broken link. A false probe
// ack has the same effect: the node follows a silent leader until the false acks end.
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
	var called []algo.ElectionCause
	lies := true
	take := func(out *Output) {
		links, called = append(links, out.BrokenLinks...), append(called, out.Elections...)
		probes := false
		for _, s := range out.Send {
			probes = probes || s.To == id(2) && s.Message == algo.Message(fd.Probe{Peer: id(3), Digest: e.Digest()})
		}
		if probes && lies {
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
		t.Errorf("n3 is %v since %v, want indirect since its first silence", members[2].State, members[2].Since)
	}
	lies = false
	run(time.Minute + 2*detection().Timeout)
	if l, _ := e.Leader(); l.ID == id(3) || len(called) == 0 || called[0] != (algo.ElectionCause{Caller: id(1), Reason: fd.ReasonSilence, Previous: id(3), Epoch: 7, SilentFor: detection().Timeout}) {
		t.Errorf("no node hears n3, and it follows %v, and knows of the elections %v", l, called)
	}
	if len(links) != 1 {
		t.Errorf("it told its host %d times of the link, want once", len(links))
	}
}

// A probe ack of a non-member is ignored.
func TestProbeAckOfNonMemberIsIgnored(t *testing.T) {
	e, _ := met(t, 3, nil)
	e.Up(0, Peer{ID: id(9), Name: testMember(9).Name, Incarnation: 7, Digest: 0})
	for _, m := range []algo.Message{fd.Probe{Peer: id(3)}, fd.Probe{}, fd.ProbeAck{Peer: id(3)}} {
		for _, s := range e.Receive(0, id(9), m).Send {
			switch s.Message.(type) {
			case fd.Probe, fd.ProbeAck:
				t.Errorf("%+v of a non-member is answered with %+v to %s", m, s.Message, s.To)
			}
		}
	}
	if got := e.Counters()["nonmembers.heartbeats"]; got != 3 {
		t.Errorf("%d of 3 messages are counted as those of non-members", got)
	}
}
