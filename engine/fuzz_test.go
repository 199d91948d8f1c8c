package engine

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// FuzzReceive hands an engine what comes from its peers, as the transport does: frames of
// members, of strangers, and of this node itself. Each frame of the input has a byte for
// its sender, two for its length and one for how much later it comes.
func FuzzReceive(f *testing.F) {
	frame := func(from, wait byte, m algo.Message) []byte {
		b, err := frames.Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		return append([]byte{from, byte(len(b) >> 8), byte(len(b)), wait}, b...)
	}
	poisoned := Roster{Cluster: algo.NodeID{0: 99}, Size: 1 << 40, Entries: []Entry{{ID: id(2), Name: "n2", Addr: addr(2), Version: 1<<64 - 1}}}
	sound := Roster{Cluster: algo.NodeID{0: 99}, Entries: []Entry{
		{ID: id(1), Name: "n1", Addr: addr(1), Version: 9, Eligible: true}, {ID: id(2), Name: "n2", Addr: addr(2), Version: 1 << 32},
		{ID: id(4), Name: "n4", Addr: addr(4), Version: 1, Gone: true}, {ID: id(7), Name: "n1", Addr: addr(1), Version: 20},
	}}
	var all []byte
	stamped := sound
	stamped.Epoch, stamped.Number = 3, 12
	for _, m := range append(slices.Concat(Messages(), bullySpec().Messages, voteSpec().Messages), poisoned, sound, stamped,
		Held{Epoch: 2, Number: 10}, Propose{Entry{ID: id(3), Name: "n3", Addr: addr(3), Gone: true}}, Join{Entry{ID: id(9), Name: "n9", Addr: addr(9)}},
		fd.Watch{Interval: time.Millisecond, Lease: time.Hour}, fd.Watch{Interval: -1, Lease: 1<<63 - 1}) {
		for from := range byte(12) {
			f.Add(frame(from, 10, m))
		}
		all = append(append(all, frame(2, 255, m)...), frame(9, 1, m)...)
	}
	f.Add(all)
	election := []byte("\x92\xa8election\xcf\x00\x00\x00\x01\x00\x00\x00\x01")
	f.Add(append([]byte{2, 0, byte(len(election)), 1}, election...))

	f.Fuzz(func(t *testing.T, input []byte) {
		quorum := settled(5)
		quorum.Cluster, quorum.Epoch, quorum.Number, quorum.Confirmed = algo.NodeID{0: 99}, 1, 9, true
		engines := []*Engine{solo(t, nil), solo(t, joins(addr(2))), solo(t, by(voteSpec()), quorum)}
		for _, e := range engines {
			e.Start(0)
		}
		for i := 2; i <= 5; i++ {
			engines[0].Receive(0, id(i), Join{Entry{ID: id(i), Name: member(i).Name, Addr: addr(i), Eligible: true}})
			for _, e := range engines {
				e.Up(0, id(i), 7, 1)
			}
		}
		now := time.Duration(0)
		for len(input) >= 4 {
			from, length, wait := id(int(input[0])), int(binary.BigEndian.Uint16(input[1:])), time.Duration(input[3])*4*ms
			input = input[4:]
			length = min(length, len(input))
			m, err := frames.Decode(input[:length])
			input = input[length:]
			now += wait
			for _, e := range engines {
				wakeAll(t, e, now)
				if err == nil {
					bounded(t, e, func() *Output { return e.Receive(now, from, m) })
				}
			}
		}
	})
}

// wakeAll wakes an engine as its host does.
func wakeAll(t *testing.T, e *Engine, now time.Duration) {
	for {
		deadline, due := e.Deadline()
		if !due || deadline > now {
			return
		}
		bounded(t, e, func() *Output { return e.Wake(deadline) })
		if next, due := e.Deadline(); due && next <= deadline {
			t.Fatalf("woken at %v, it wants to be woken at %v", deadline, next)
		}
	}
}

// bounded fails when one input brings about too much.
func bounded(t *testing.T, e *Engine, input func() *Output) {
	before, leader := e.machine.Stable().Epoch, e.machine.Leader()
	out := input()
	// What was adopted may be bumped once on top.
	if after := e.machine.Stable().Epoch; after < before || after-before > algo.MaxEpochLead+1 {
		t.Fatalf("the epoch went from %d to %d", before, after)
	}
	if e.machine.Leader().Epoch < leader.Epoch {
		t.Fatalf("the leadership went from %v to %v", leader, e.machine.Leader())
	}
	most := 4*e.View().Len() + 8
	if len(out.Send) > most || len(out.Dial) > most || len(out.Refuse) > 1 || len(out.Save) > 3 || len(out.Leaders) > 4 {
		t.Fatalf("one input brings about %d sends, %d dials, %d refusals, %d records and %d leaders",
			len(out.Send), len(out.Dial), len(out.Refuse), len(out.Save), len(out.Leaders))
	}
	for _, s := range out.Send {
		if s.To == e.config.Self.ID || s.To.IsZero() {
			t.Fatalf("it sends %v to itself or nobody", s.Message)
		}
		if _, err := frames.Append(nil, s.Message); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.members.entries) > maxEntries || len(e.met) > maxEntries+len(e.links) {
		t.Fatalf("%d entries, %d acquaintances", len(e.members.entries), len(e.met))
	}
}
