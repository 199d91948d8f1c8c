package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/transport"
)

// part is something that a node is made of, or that is made of nodes, and how fast it is.
// The packages have benchmarks of their own that go further; here is one place to look.
type part struct {
	Name string
	// Unit is what Prepared.Do does some of: "messages", "saves", …
	Unit string
	// Prepare makes what is needed. dir is a folder of its own on a disk.
	Prepare func(ctx context.Context, dir string) (prepared, error)
}

// prepared is a part that is ready.
type prepared struct {
	// Do does some units and returns how many.
	Do func() (units int, err error)
	// Close ends it; nil if there is nothing to end.
	Close func() error
}

// parts returns all of them.
func parts() []part {
	id := sim.ID(4)
	memory := func(string) (*store.Store, error) { return store.NewMemory(), nil }
	return []part{
		{"codec/message=beat", "messages", codec(fd.Beat{View: 1 << 60})},
		{"codec/message=coordinator", "messages", codec(bully.Coordinator{Epoch: 300, Leader: id})},
		{"codec/message=token", "messages", codec(ring.Election{Epoch: 300, Eligible: true, Priority: 4, ID: id, Hops: 3})},
		{"codec/message=claim", "messages", codec(vote.Elect{Round: 300, Term: 299, Msg: 1000, Leader: id})},
		{"frames", "frames", frames},
		{"engine/step=beat", "messages", stepping(fd.Beat{})},
		{"engine/step=election", "messages", stepping(bully.Election{Epoch: 1})},
		{"store/kept=disk", "saves", saving(store.Open)},
		{"store/kept=memory", "saves", saving(memory)},
		{"sim/work=elections", "messages", elections},
		{"sim/work=heartbeats", "messages", heartbeats},
		{"explore/work=search", "transitions", search},
		{"explore/work=walk", "transitions", walk},
	}
}

// label is the name as a label: "codec beat".
func (p part) label() string {
	what, of, _ := strings.Cut(p.Name, "/")
	_, of, _ = strings.Cut(of, "=")
	return strings.TrimSpace(what + " " + of)
}

// codec is a message that is encoded and decoded, into a buffer that is used again.
func codec(m algo.Message) func(context.Context, string) (prepared, error) {
	return func(context.Context, string) (prepared, error) {
		c, err := wire.NewCodec(m)
		var frame []byte
		return prepared{Do: func() (int, error) {
			var err error
			if frame, err = c.Append(frame[:0], m); err == nil {
				_, err = c.Decode(frame)
			}
			return 1, err
		}}, err
	}
}

// batchOfFrames is how many are written at once.
const batchOfFrames = 1000

// frames are heartbeats that come over TCP on the loopback, from the kernel to the
// handler of a transport.
func frames(ctx context.Context, _ string) (prepared, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return prepared{}, err
	}
	r := &receiver{batch: make(chan error, 1)}
	node, err := transport.New(transport.Options{
		Self: transport.ID(sim.ID(1)), Listener: listener, Handler: r,
		Handshake: func(func([]byte) error, func() ([]byte, error), bool, transport.Target) (transport.Peer, error) {
			return transport.Peer{ID: transport.ID(sim.ID(2)), Incarnation: 1}, nil
		},
	})
	if err != nil {
		return prepared{}, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return prepared{}, errors.Join(err, node.Close(ctx))
	}
	batch, err := framed(fd.Beat{View: 1 << 60}, batchOfFrames)
	return prepared{
		Do: func() (int, error) {
			if _, err := conn.Write(batch); err != nil {
				return 0, err
			}
			select {
			case err := <-r.batch:
				return batchOfFrames, err
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		},
		Close: func() error { return errors.Join(conn.Close(), node.Close(context.WithoutCancel(ctx))) },
	}, err
}

// framed is a message so many times, each with its length.
func framed(m algo.Message, times int) ([]byte, error) {
	c, err := wire.NewCodec(m)
	if err != nil {
		return nil, err
	}
	payload, err := c.Append(nil, m)
	if err != nil {
		return nil, err
	}
	var all []byte
	for range times {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(payload))), payload...)
	}
	return all, nil
}

// receiver says when a batch of frames is there.
type receiver struct {
	taken int
	batch chan error
}

func (r *receiver) Up(transport.Peer) {}

func (r *receiver) Frame(transport.Peer, []byte) error {
	if r.taken++; r.taken%batchOfFrames == 0 {
		r.batch <- nil
	}
	return nil
}

func (r *receiver) Down(_ transport.Peer, why error) {
	select {
	case r.batch <- fmt.Errorf("bench: the frames end: %w", why):
	default: // nobody waits
	}
}

func (r *receiver) DialFailed(transport.Target, error) {}

// stepping is a message that the leader of five nodes takes from the lowest, with all that
// comes of it but the sending: whole engine, detector and algorithm.
func stepping(m algo.Message) func(context.Context, string) (prepared, error) {
	return func(context.Context, string) (prepared, error) {
		timing := algo.LAN()
		spec, err := bullySpec(timing, nil)
		if err != nil {
			return prepared{}, err
		}
		const nodes = 5
		known := engine.Roster{Cluster: sim.ID(100)}
		var leader algo.Member
		for i := 1; i <= nodes; i++ {
			leader = algo.Member{ID: sim.ID(i), Name: nodeName(i), Addr: nodeName(i) + ":7400", Eligible: true}
			known.Entries = append(known.Entries, engine.Entry{ID: leader.ID, Name: leader.Name, Addr: leader.Addr, Eligible: true, Version: 1})
		}
		e := engine.New(engine.Config{
			Self: leader, Spec: spec,
			Detector: fd.New(algo.Timing{
				Heartbeat: timing.Heartbeat, Timeout: timing.Timeout, MaxTimeout: timing.MaxTimeout, Forgive: timing.Forgive,
				MinRedial: timing.MinRedial, MaxRedial: timing.MaxRedial,
			}),
			Pick: func(least, _ time.Duration) time.Duration { return least },
		}, engine.Settle(known))
		e.Start(0)
		if l, _ := e.Leader(); l.ID != leader.ID {
			return prepared{}, fmt.Errorf("bench: %v leads, want the highest", l)
		}
		lowest, now := sim.ID(1), time.Duration(0)
		e.Up(now, lowest, 1, e.Digest())
		if beat, ok := m.(fd.Beat); ok {
			beat.View = e.Digest() // else it would be answered with the membership
			m = beat
		}
		return prepared{Do: func() (int, error) {
			now += time.Microsecond
			if out := e.Receive(now, lowest, m); len(out.Refuse) > 0 {
				return 0, fmt.Errorf("bench: %w", out.Refuse[0].Reason)
			}
			return 1, nil
		}}, nil
	}
}

// saving is what a vote costs: an epoch, an id and a word.
func saving(open func(dir string) (*store.Store, error)) func(context.Context, string) (prepared, error) {
	return func(_ context.Context, dir string) (prepared, error) {
		s, err := open(dir)
		if err != nil {
			return prepared{}, err
		}
		if _, err := s.Load(); err != nil {
			return prepared{}, errors.Join(err, s.Close())
		}
		value := make([]byte, 48)
		return prepared{
			Do: func() (int, error) {
				binary.BigEndian.PutUint64(value, binary.BigEndian.Uint64(value)+1)
				return 1, s.Save(value)
			},
			Close: s.Close,
		}, nil
	}
}

// elections are those of 30 nodes in the simulator, one after the other: the lowest asks
// all above, who ask all above them.
func elections(context.Context, string) (prepared, error) {
	const nodes = 30
	timing := algo.LAN()
	timing.RoundTrip = 2 * oneWay
	spec, err := bullySpec(timing, [][2]string{{"skip_suspected", "false"}})
	if err != nil {
		return prepared{}, err
	}
	w := sim.New(sim.Config{Spec: spec, Timing: timing, Detector: sim.Scripted, Delay: sim.Fixed(oneWay), Budget: 1 << 62})
	if err := w.Cluster(nodes); err != nil {
		return prepared{}, err
	}
	w.Run(time.Second)
	return prepared{Do: func() (int, error) {
		before := w.Frames()
		if err := w.Campaign(1); err != nil {
			return 0, err
		}
		w.Run(8 * oneWay)
		return int(w.Frames() - before), nil
	}}, nil
}

// heartbeats are those of five nodes in the simulator that have nothing else to do, for a
// minute of virtual time.
func heartbeats(context.Context, string) (prepared, error) {
	const nodes = 5
	timing := algo.LAN()
	spec, err := bullySpec(timing, nil)
	if err != nil {
		return prepared{}, err
	}
	w := sim.New(sim.Config{Spec: spec, Delay: sim.Uniform(time.Millisecond, oneWay), Seed: 1, Budget: 1 << 62})
	if err := w.Cluster(nodes); err != nil {
		return prepared{}, err
	}
	w.Run(time.Second)
	return prepared{Do: func() (int, error) {
		before := w.Frames()
		w.Run(time.Minute)
		return int(w.Frames() - before), nil
	}}, nil
}

func exploring() (explore.Options, error) {
	spec, err := bullySpec(algo.Timing{RoundTrip: 2 * oneWay, Heartbeat: 12 * oneWay}, nil)
	return explore.Options{Spec: spec, Nodes: 3, Epochs: 2, Crashes: 1, Mistakes: 1}, err
}

// search visits the first 100,000 states of three nodes with one crash and one mistake.
func search(ctx context.Context, _ string) (prepared, error) {
	o, err := exploring()
	o.Limits.States = 100_000
	return prepared{Do: func() (int, error) {
		r, err := explore.Run(ctx, o)
		return r.Generated, err
	}}, err
}

// walk takes 100,000 random steps through them.
func walk(ctx context.Context, _ string) (prepared, error) {
	o, err := exploring()
	return prepared{Do: func() (int, error) {
		r, err := explore.Walk(ctx, o, explore.WalkOptions{Seed: 1, Steps: 100_000})
		return r.Generated, err
	}}, err
}

// oneWay is how long a message takes here in virtual time.
const oneWay = election.OneWay

// bullySpec is what the parts are fed with.
func bullySpec(t algo.Timing, options [][2]string) (algo.Spec, error) {
	return bully.Factory(t, election.Options(options))
}
