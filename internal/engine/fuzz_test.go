package engine

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/ring"
	textbook "github.com/elect-go/elect/algo/textbook/vote"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/wire"
)

// largestList is the maximum length of a list in tests with made-up messages.
const largestList = 6

// speech is an algorithm with the codec of all messages that its nodes send.
type speech struct {
	spec   algo.Spec
	frames *wire.Codec
}

// speeches returns bully, ring, vote and the textbook vote, with their codecs.
func speeches(t testing.TB) []speech {
	timing := algo.Timing{RoundTrip: 20 * ms, Heartbeat: interval}
	ringSpec, err := ring.New(ring.Defaults(timing))
	if err != nil {
		t.Fatal(err)
	}
	voteSpec, err := vote.New(vote.Defaults(timing))
	if err != nil {
		t.Fatal(err)
	}
	sourceSpec, err := textbook.Factory(timing, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []speech
	for _, spec := range []algo.Spec{bullySpec(), ringSpec, voteSpec, sourceSpec} {
		all = append(all, speech{spec, codec(append(Messages(), spec.Messages...)...)})
	}
	return all
}

// FuzzReceive passes frames to engines, as the transport does: from members, from non-members, and from the node
// itself. Before each frame, the input has one byte for its sender, two for its length and one for the time since the
// previous frame.
func FuzzReceive(f *testing.F) {
	algorithms := speeches(f)
	frame := func(from, wait byte, m algo.Message) []byte {
		for _, a := range algorithms {
			if b, err := a.frames.Append(nil, m); err == nil {
				return append([]byte{from, byte(len(b) >> 8), byte(len(b)), wait}, b...)
			}
		}
		f.Fatalf("no node sends %T", m)
		return nil
	}
	initial, record := membership.Config{Cluster: algo.NodeID{0: 99}, ID: membership.ConfigID{Version: 1}, Author: id(2)}, committed(3)
	initial.Members = record.Config.Members
	newer := record.Config
	newer.ID.Version++
	newer.Members, newer.Author = newer.Members[:2], id(2)
	last, later := newer, newer
	last.ID = membership.ConfigID{Term: algo.MaxEpoch, Version: math.MaxUint64}
	later.ID, later.Expired = membership.ConfigID{Term: 3, Version: 12}, []algo.NodeID{id(1), id(9)}
	thief, renamed := membership.MemberOf(testMember(4)), membership.MemberOf(testMember(2))
	thief.Addr, renamed.Name, renamed.Priority = addr(2), "n3", math.MaxInt
	said := append(Messages(), membership.Update{Config: initial}, membership.Update{Config: newer}, membership.Update{Config: newer, Committed: true},
		membership.Ack{Config: newer.ID}, membership.Self{Member: membership.MemberOf(testMember(9)), Holds: record.Config.ID, Standby: time.Hour},
		membership.RemoveRequest{ID: id(2)}, membership.BootstrapReply{Member: membership.MemberOf(testMember(2))}, membership.Update{Config: last}, membership.Update{Config: later, Committed: true},
		membership.Self{Member: thief}, membership.Self{Member: renamed, Standby: -1}, membership.Self{}, membership.Reject{Reason: "no"},
		fd.Subscribe{Interval: time.Millisecond, TTL: time.Hour}, fd.Subscribe{Interval: -1, TTL: 1<<63 - 1},
		ring.Election{Epoch: 3, Eligible: true, Priority: 1, ID: id(5), Hops: 1}, ring.Elected{Epoch: 3, ID: id(5), Hops: 9},
		vote.Elect{Round: 3, Term: 2, Msg: 7, Leader: id(5)}, vote.Vote{Round: 3}, vote.Lead{Term: 3, Msg: 1})
	for _, a := range algorithms {
		said = append(said, a.spec.Messages...)
	}
	var all []byte
	for _, m := range said {
		for _, from := range []byte{0, 1, 2, 3, 9} { // no node, the node itself, members, a non-member
			f.Add(frame(from, 10, m))
		}
		all = append(append(all, frame(2, 255, m)...), frame(9, 1, m)...)
	}
	f.Add(all)
	election := []byte("\x92\xa8election\xcf\x00\x00\x00\x01\x00\x00\x00\x01")
	f.Add(append([]byte{2, 0, byte(len(election)), 1}, election...))

	f.Fuzz(func(t *testing.T, input []byte) {
		for _, a := range algorithms {
			receive(t, a, input)
		}
	})
}

// fiveMembers returns the engine of n1 in a cluster of five connected members.
func fiveMembers(t *testing.T, spec algo.Spec) *Engine {
	if !spec.Claims.NeedsQuorum {
		e, _ := met(t, 5, by(spec))
		return e
	}
	return connected(solo(t, by(spec), committed(5)))
}

// connected starts a node and connects it to the nodes n2 to n5.
func connected(e *Engine) *Engine {
	e.Start(0)
	for i := 2; i <= 5; i++ {
		e.Up(0, Peer{ID: id(i), Name: testMember(i).Name, Incarnation: 7, Digest: 1, Addr: addr(i)})
	}
	return e
}

// receive passes the input to one of five members, to a node that waits for the others, and to one that bootstraps a
// cluster or is the only one in its list.
func receive(t *testing.T, a speech, input []byte) {
	waits := joins(addr(2))
	if !a.spec.Claims.NeedsQuorum {
		waits = func(c *Config) { c.Timing.StartupWait, c.List = time.Second, addrs(largestList) }
	}
	engines := []*Engine{fiveMembers(t, a.spec), connected(solo(t, by(a.spec, waits))), connected(solo(t, by(a.spec)))}
	now := time.Duration(0)
	for len(input) >= 4 {
		from, length, wait := id(int(input[0])), int(binary.BigEndian.Uint16(input[1:])), time.Duration(input[3])*4*ms
		input = input[4:]
		length = min(length, len(input))
		m, err := a.frames.Decode(input[:length])
		input = input[length:]
		now += wait
		for _, e := range engines {
			wakeAll(t, a, e, now)
			if err == nil {
				bounded(t, a, e, func() *Output { return e.Receive(now, from, m) })
			}
		}
	}
}

// wakeAll wakes an engine at each of its deadlines up to now, as its driver does.
func wakeAll(t *testing.T, a speech, e *Engine, now time.Duration) {
	for {
		deadline, due := e.Deadline()
		if !due || deadline > now {
			return
		}
		bounded(t, a, e, func() *Output { return e.Wake(deadline) })
		if next, due := e.Deadline(); due && next <= deadline {
			t.Fatalf("woken at %v, it wants to be woken at %v", deadline, next)
		}
	}
}

// bounded fails if one input lowers an epoch, or has too many effects.
func bounded(t *testing.T, a speech, e *Engine, input func() *Output) {
	before, leader := e.machine.HardState().Epoch, e.machine.Leader()
	out := input()
	after := e.machine.HardState().Epoch
	if after < before {
		t.Fatalf("the epoch went from %d to %d", before, after)
	}
	if e.machine.Leader().Epoch < leader.Epoch {
		t.Fatalf("the leadership went from %v to %v", leader, e.machine.Leader())
	}
	most := 4*max(e.View().Len(), len(e.conns)) + 8 // also to non-members
	refused := make(map[algo.NodeID]bool)           // one rejection per peer: messages from before the start are handled in one step
	for _, r := range out.Rejections {
		refused[r.Peer] = true
	}
	if len(out.Send) > most || len(out.Dial) > most || len(out.Rejections) > len(refused) || len(out.Save) > 3 || len(out.Leaders) > 4 {
		t.Fatalf("one input brings about %d sends, %d dials, %d refusals, %d records and %d leaders",
			len(out.Send), len(out.Dial), len(out.Rejections), len(out.Save), len(out.Leaders))
	}
	for _, s := range out.Send {
		if s.To == e.config.Self.ID || s.To.IsZero() {
			t.Fatalf("it sends %v to itself or to no node", s.Message)
		}
		if _, err := a.frames.Append(nil, s.Message); err != nil {
			t.Fatal(err)
		}
	}
	if e.View().Len() > 512 {
		t.Fatalf("%d members", e.View().Len())
	}
	if e.dynamic != nil && len(e.dynamic.Config().Expired) > 64 {
		t.Fatalf("%d expired members", len(e.dynamic.Config().Expired))
	}
	if e.static != nil && e.View().Len() > largestList {
		t.Fatalf("%d members of a list of at most %d", e.View().Len(), largestList)
	}
}
