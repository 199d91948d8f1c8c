package fd

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// star is a cluster in which all other nodes monitor n0. Messages take 1 ms.
type star struct {
	nodes  []*Detector
	inbox  []delivery
	frames int
}

type delivery struct {
	at       time.Duration
	from, to int
	message  algo.Message
}

func newStar(size int) *star {
	s := &star{}
	for range size {
		s.nodes = append(s.nodes, New(config()))
	}
	for i := 1; i < size; i++ {
		s.nodes[0].Up(0, n(i), 1)
		s.nodes[i].Up(0, n(0), 1)
		s.nodes[i].Monitor(0, []algo.NodeID{n(0)})
		s.take(0, i)
	}
	return s
}

func (s *star) take(now time.Duration, i int) {
	out := s.nodes[i].TakeOutput()
	if len(out.Changes)+len(out.Dials) > 0 {
		panic(fmt.Sprintf("node %d at %v: %v %v", i, now, out.Changes, out.Dials))
	}
	for _, e := range out.Sends {
		s.frames++
		s.inbox = append(s.inbox, delivery{now + ms, i, int(e.To[15]) | int(e.To[14])<<8, e.Message})
	}
}

func (s *star) run(end time.Duration) {
	for {
		now := end
		for _, d := range s.nodes {
			now = min(now, d.Deadline())
		}
		if len(s.inbox) > 0 {
			now = min(now, s.inbox[0].at)
		}
		if now >= end {
			return
		}
		for len(s.inbox) > 0 && s.inbox[0].at <= now {
			m := s.inbox[0]
			s.inbox = s.inbox[1:]
			d := s.nodes[m.to]
			d.HandleFrame(now, n(m.from))
			if w, ok := m.message.(Subscribe); ok {
				d.Receive(now, n(m.from), w)
			}
			s.take(now, m.to)
		}
		for i, d := range s.nodes {
			if d.Deadline() <= now {
				d.Wake(now)
				s.take(now, i)
			}
		}
	}
}

// A cluster in which all nodes monitor one costs O(N) frames per interval, not O(N²).
func TestStarCostsFewFrames(t *testing.T) {
	for _, size := range []int{2, 3, 5, 100} {
		s := newStar(size)
		s.run(time.Second)
		s.frames = 0
		const intervals = 1000
		s.run(time.Second + intervals*interval)
		perNode := float64(s.frames) / float64(size*intervals)
		t.Logf("N=%d: %.2f frames per node and interval", size, perNode)
		if perNode > 1.3 {
			t.Errorf("N=%d: %.2f frames per node and interval, want at most 1.3", size, perNode)
		}
	}
}

// Deadline never misses a due action: a detector that is woken only at its deadlines behaves like one that is woken
// each millisecond.
func TestDeadlineIsNeverTooLate(t *testing.T) {
	for range 100 {
		seed := rand.Uint64()
		often, exact := history(seed, true), history(seed, false)
		if often != exact {
			t.Fatalf("seed %d:\nwoken each millisecond:\n%s\nwoken at its deadlines:\n%s", seed, often, exact)
		}
	}
}

// history returns the output of a detector in a random run, one item per line.
func history(seed uint64, often bool) (lines string) {
	random := rand.New(rand.NewPCG(seed, 1))
	c := config()
	c.TimeoutDecay = 2 * time.Second
	d := New(c)
	take := func(now time.Duration) {
		out := d.TakeOutput()
		for _, e := range out.Sends {
			if e.Message.Kind() == "heartbeat" {
				lines += fmt.Sprintf("%v beat to %v\n", now, e.To[15])
			}
		}
		for _, change := range out.Changes {
			lines += fmt.Sprintf("%v %v %v %s\n", now, change.Peer[15], change.Suspected, change.Explanation)
		}
		for _, id := range out.Dials {
			lines += fmt.Sprintf("%v dial %v\n", now, id[15])
		}
	}
	for now := time.Duration(0); now < 3*time.Second; now += ms {
		for random.IntN(40) == 0 {
			peer := n(1 + random.IntN(3))
			switch random.IntN(9) {
			case 0:
				var peers []algo.NodeID
				for i := range 3 {
					if random.IntN(2) == 0 {
						peers = append(peers, n(i+1))
					}
				}
				d.Monitor(now, peers)
			case 1, 2:
				d.HandleFrame(now, peer)
			case 3:
				d.Up(now, peer, uint64(1+random.IntN(2)))
			case 4:
				d.Down(now, peer, random.IntN(2) == 0)
			case 5:
				d.HandleDialFailure(now, peer, DialResult(1+random.IntN(3)))
			case 6:
				d.Receive(now, peer, Subscribe{Interval: time.Duration(20+random.IntN(3)*30) * ms, TTL: 500 * ms})
			case 7:
				d.RecordSend(now, peer)
			case 8:
				if random.IntN(4) == 0 {
					d.HandleGoodbye(now, peer)
				}
			}
			take(now)
		}
		if often || d.Deadline() <= now {
			d.Wake(now)
			take(now)
			if d.Deadline() <= now {
				lines += fmt.Sprintf("%v busy: %v\n", now, d.Deadline())
			}
		}
	}
	return lines
}
