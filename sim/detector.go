package sim

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// DetectorKind selects the failure detector of the nodes.
type DetectorKind uint8

const (
	// Heartbeats is the detector of package fd, with connections and dials.
	Heartbeats DetectorKind = iota
	// Perfect learns of each crash after the longest message delay and of each restart after the shortest. So it
	// never suspects a node while its messages arrive. There are no heartbeats and no connections: all messages
	// arrive, and only the algorithm sends messages.
	Perfect
	// Scripted obeys the commands suspect, suspect-on-use and trust of World.Do. Otherwise it is like Perfect.
	Scripted
)

var detections = [...]string{"heartbeats", "perfect", "scripted"}

func (d DetectorKind) String() string { return detections[d] }

// scriptedDetector is a failure detector that obeys commands.
type scriptedDetector struct {
	monitored []algo.NodeID
	dead      []suspicion // oldest first
	out       fd.Output
}

type suspicion struct {
	id       algo.NodeID
	why      string
	since    time.Duration
	reported bool // and neither withdrawn nor forgotten
}

// Suspect suspects a peer. The detector reports the suspicion as soon as the peer is monitored.
func (s *scriptedDetector) Suspect(now time.Duration, peer algo.NodeID, why string) {
	s.SuspectOnUse(now, peer, why)
	if d := s.find(peer); !d.reported && s.isMonitored(peer) {
		s.report(d)
	}
}

// SuspectOnUse suspects a peer without a report. The detector reports the suspicion when the algorithm next
// sets its monitored peers, or sends to the peer, and monitors it.
func (s *scriptedDetector) SuspectOnUse(now time.Duration, peer algo.NodeID, why string) {
	if s.find(peer) == nil {
		s.dead = append(s.dead, suspicion{id: peer, why: why, since: now})
	}
}

// Trust withdraws a suspicion.
func (s *scriptedDetector) Trust(_ time.Duration, peer algo.NodeID, why string) {
	if d := s.find(peer); d != nil && d.reported {
		s.out.Changes = append(s.out.Changes, fd.Change{Peer: peer, Explanation: why})
	}
	s.Forget(peer)
}

func (s *scriptedDetector) isMonitored(peer algo.NodeID) bool {
	return slices.Contains(s.monitored, peer)
}

// find returns the suspicion of a peer, or nil.
func (s *scriptedDetector) find(peer algo.NodeID) *suspicion {
	for i := range s.dead {
		if s.dead[i].id == peer {
			return &s.dead[i]
		}
	}
	return nil
}

func (s *scriptedDetector) report(d *suspicion) {
	d.reported = true
	s.out.Changes = append(s.out.Changes, fd.Change{Peer: d.id, Suspected: true, Explanation: d.why})
}

// Monitor replaces the set of monitored peers.
func (s *scriptedDetector) Monitor(_ time.Duration, peers []algo.NodeID) {
	s.monitored = append(s.monitored[:0], peers...)
	for i := range s.dead {
		d := &s.dead[i]
		switch monitored := slices.Contains(peers, d.id); {
		case monitored && !d.reported:
			s.report(d)
		case !monitored && d.reported:
			d.reported = false // no report about a peer that is no longer monitored
			s.out.Changes = slices.DeleteFunc(s.out.Changes, func(c fd.Change) bool { return c.Peer == d.id })
		}
	}
}

// RecordSend reports the suspicion of a peer when the node sends to it.
func (s *scriptedDetector) RecordSend(_ time.Duration, peer algo.NodeID) {
	if d := s.find(peer); d != nil && !d.reported && s.isMonitored(peer) {
		s.report(d)
	}
}

// TakeOutput returns the changes since the previous call.
func (s *scriptedDetector) TakeOutput() fd.Output {
	out := s.out
	s.out.Changes = s.out.Changes[:0]
	return out
}

// HandleGoodbye suspects the peer.
func (s *scriptedDetector) HandleGoodbye(now time.Duration, peer algo.NodeID) {
	s.Suspect(now, peer, "it said goodbye")
}

// Forget deletes the suspicion of a peer.
func (s *scriptedDetector) Forget(peer algo.NodeID) {
	s.dead = slices.DeleteFunc(s.dead, func(d suspicion) bool { return d.id == peer })
}

// State returns Suspected for a suspected peer, Alive for another monitored peer, and otherwise Unknown.
func (s *scriptedDetector) State(peer algo.NodeID) (state fd.State, since, timeout time.Duration) {
	if d := s.find(peer); d != nil {
		return fd.Suspected, d.since, 0
	}
	if s.isMonitored(peer) {
		return fd.Alive, 0, 0
	}
	return fd.Unknown, 0, 0
}

// Deadline returns never: the detector has no timers.
func (s *scriptedDetector) Deadline() time.Duration { return never }

func (s *scriptedDetector) Subscribers() []algo.NodeID { return nil }

// The detector ignores all other events.

func (s *scriptedDetector) HandleFrame(time.Duration, algo.NodeID)                      {}
func (s *scriptedDetector) Up(time.Duration, algo.NodeID, uint64)                       {}
func (s *scriptedDetector) Down(time.Duration, algo.NodeID, bool)                       {}
func (s *scriptedDetector) HandleDialFailure(time.Duration, algo.NodeID, fd.DialResult) {}
func (s *scriptedDetector) SetDigest(uint64)                                            {}
func (s *scriptedDetector) Wake(time.Duration)                                          {}
func (s *scriptedDetector) SetLeader(time.Duration, algo.NodeID)                        {}

// Receive is never called: no peer sends detector messages.
func (s *scriptedDetector) Receive(time.Duration, algo.NodeID, algo.Message) (uint64, error) {
	return 0, nil
}
