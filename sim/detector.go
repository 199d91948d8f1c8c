package sim

import (
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// DetectorKind is who finds out that a node is dead.
type DetectorKind uint8

const (
	// Heartbeats is the detector of the live cluster, with its connections and dials.
	Heartbeats DetectorKind = iota
	// Perfect knows of every crash after one message time, the longest, and of every restart
	// after the shortest: it takes nobody for dead whose messages still arrive, or arrive
	// again. There are no heartbeats and no connections: what is sent arrives, and
	// the counts are those of the algorithm alone.
	Perfect
	// Scripted knows only what it is told: suspect, learn and trust in World.Do. Else it
	// is like Perfect.
	Scripted
)

var detections = [...]string{"heartbeats", "perfect", "scripted"}

func (d DetectorKind) String() string { return detections[d] }

// script is a failure detector that is told what to say.
type script struct {
	monitored []algo.NodeID
	dead      []suspicion // in the order of being told
	out       fd.Output
}

type suspicion struct {
	id       algo.NodeID
	why      string
	since    time.Duration
	reported bool // and not taken back, nor forgotten
}

// Suspect takes a peer for dead from now on: reported at once if the peer is
// monitored, and else when it is.
func (s *script) Suspect(now time.Duration, peer algo.NodeID, why string) {
	s.Learn(now, peer, why)
	if d := s.find(peer); !d.reported && s.watches(peer) {
		s.report(d)
	}
}

// Learn is Suspect for when it matters: it is reported when the algorithm next says whom
// it monitors, if the peer is among them, or sends to a peer that it monitors.
func (s *script) Learn(now time.Duration, peer algo.NodeID, why string) {
	if s.find(peer) == nil {
		s.dead = append(s.dead, suspicion{id: peer, why: why, since: now})
	}
}

// Trust takes a Suspect or Learn back.
func (s *script) Trust(_ time.Duration, peer algo.NodeID, why string) {
	if d := s.find(peer); d != nil && d.reported {
		s.out.Changes = append(s.out.Changes, fd.Change{Peer: peer, Explanation: why})
	}
	s.Forget(peer)
}

func (s *script) watches(peer algo.NodeID) bool { return slices.Contains(s.monitored, peer) }

// find is what was said of a peer, or nil.
func (s *script) find(peer algo.NodeID) *suspicion {
	for i := range s.dead {
		if s.dead[i].id == peer {
			return &s.dead[i]
		}
	}
	return nil
}

func (s *script) report(d *suspicion) {
	d.reported = true
	s.out.Changes = append(s.out.Changes, fd.Change{Peer: d.id, Suspected: true, Explanation: d.why})
}

// Monitor replaces the set of peers that are watched.
func (s *script) Monitor(_ time.Duration, peers []algo.NodeID) {
	s.monitored = append(s.monitored[:0], peers...)
	for i := range s.dead {
		d := &s.dead[i]
		switch watched := slices.Contains(peers, d.id); {
		case watched && !d.reported:
			s.report(d)
		case !watched && d.reported:
			d.reported = false // who is watched no more is forgotten
			s.out.Changes = slices.DeleteFunc(s.out.Changes, func(c fd.Change) bool { return c.Peer == d.id })
		}
	}
}

// Sent has a peer that is dead suspected by who still talks to it.
func (s *script) RecordSend(_ time.Duration, peer algo.NodeID) {
	if d := s.find(peer); d != nil && !d.reported && s.watches(peer) {
		s.report(d)
	}
}

// Take returns the news since the last Take.
func (s *script) TakeOutput() fd.Output {
	out := s.out
	s.out.Changes = s.out.Changes[:0]
	return out
}

// Goodbye is believed: it is no mistake.
func (s *script) HandleGoodbye(now time.Duration, peer algo.NodeID) {
	s.Suspect(now, peer, "it said goodbye")
}

// Forget drops what is known of a peer.
func (s *script) Forget(peer algo.NodeID) {
	s.dead = slices.DeleteFunc(s.dead, func(d suspicion) bool { return d.id == peer })
}

// State is Suspected for those it was told to suspect, Alive for others that are
// monitored, and else Unknown.
func (s *script) State(peer algo.NodeID) (state fd.State, since, timeout time.Duration) {
	if d := s.find(peer); d != nil {
		return fd.Suspected, d.since, 0
	}
	if s.watches(peer) {
		return fd.Alive, 0, 0
	}
	return fd.Unknown, 0, 0
}

// Deadline is never: nothing is due by itself.
func (s *script) Deadline() time.Duration { return never }

func (s *script) Subscribers() []algo.NodeID { return nil }

// Nothing else is news.

func (s *script) HandleFrame(time.Duration, algo.NodeID)                      {}
func (s *script) Up(time.Duration, algo.NodeID, uint64)                       {}
func (s *script) Down(time.Duration, algo.NodeID, bool)                       {}
func (s *script) HandleDialFailure(time.Duration, algo.NodeID, fd.DialResult) {}
func (s *script) SetDigest(uint64)                                            {}
func (s *script) Wake(time.Duration)                                          {}
func (s *script) SetLeader(time.Duration, algo.NodeID)                        {}

// Receive is not called: nobody says what it would take.
func (s *script) Receive(time.Duration, algo.NodeID, algo.Message) (uint64, error) { return 0, nil }
