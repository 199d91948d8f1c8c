package bench

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/ring"
	"github.com/elect-go/elect/algo/vote"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/membership"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/transport"
)

// part is a component of a node, or a program that runs nodes. This file is an overview; the packages
// have more detailed benchmarks.
type part struct {
	name string
	unit string // unit of the work of a call: "messages", "saves", …
	// prepare returns a function that processes some units and returns their number.
	prepare func(tb testing.TB) (do func() (units int, err error))
}

// parts returns all parts.
func parts() []part {
	memory := func(string) (*store.Store, error) { return store.NewMemory(), nil }
	return []part{
		{"codec/message=heartbeat", "messages", codec(fd.Heartbeat{Digest: 1 << 60})},
		{"codec/message=coordinator", "messages", codec(bully.Coordinator{Epoch: 300, Leader: sim.ID(4)})},
		{"codec/message=token", "messages", codec(ring.Election{Epoch: 300, Eligible: true, Priority: 4, ID: sim.ID(4), Hops: 3})},
		{"codec/message=elect", "messages", codec(vote.Elect{Round: 300, Term: 299, Msg: 1000, Leader: sim.ID(4)})},
		{"frames", "frames", frames},
		{"engine/step=beat", "messages", stepping(fd.Heartbeat{})},
		{"engine/step=election", "messages", stepping(bully.Election{Epoch: 1})},
		{"store/kept=disk", "saves", saving(store.Open)},
		{"store/kept=memory", "saves", saving(memory)},
		{"sim/work=elections", "messages", elections},
		{"sim/work=heartbeats", "messages", heartbeats},
		{"explore/work=search", "transitions", search},
		{"explore/work=walk", "transitions", walk},
	}
}

// BenchmarkParts measures the speed and the allocations of the components of nodes. It reports units in
// a second, and on Linux units in a second of processor time, which is better on a busy machine.
func BenchmarkParts(b *testing.B) {
	for _, p := range parts() {
		b.Run(p.name, func(b *testing.B) {
			do := p.prepare(b)
			units := 0
			used := processor()
			b.ReportAllocs()
			for b.Loop() {
				n, err := do()
				if err != nil {
					b.Fatal(err)
				}
				units += n
			}
			if used = processor() - used; used > 0 {
				b.ReportMetric(float64(units)/used.Seconds(), p.unit+"/cpu-s")
			}
			b.ReportMetric(float64(units)/b.Elapsed().Seconds(), p.unit+"/s")
		})
	}
}

// processor returns the processor time of this process, or zero.
func processor() time.Duration {
	if runtime.GOOS != "linux" {
		return 0
	}
	used, err := readUsage(os.Getpid())
	if err != nil {
		return 0
	}
	return used.CPU
}

// TestParts runs each part twice.
func TestParts(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, p := range parts() {
		t.Run(p.name, func(t *testing.T) {
			if testing.Short() && p.unit == "transitions" {
				t.Skip("it takes a second")
			}
			require.False(t, names[p.name])
			names[p.name] = true
			do := p.prepare(t)
			for range 2 {
				units, err := do()
				require.NoError(t, err)
				require.Positive(t, units)
			}
		})
	}
}

// codec encodes and decodes a message, with a reused buffer.
func codec(m algo.Message) func(testing.TB) func() (int, error) {
	return func(tb testing.TB) func() (int, error) {
		c, err := wire.NewCodec(m)
		require.NoError(tb, err)
		var frame []byte
		return func() (int, error) {
			var err error
			if frame, err = c.Append(frame[:0], m); err == nil {
				_, err = c.Decode(frame)
			}
			return 1, err
		}
	}
}

// batchOfFrames is the number of frames in one write.
const batchOfFrames = 1000

// frames receives heartbeats over TCP on the loopback, from the kernel to the handler of a transport.
func frames(tb testing.TB) func() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	r := &receiver{batch: make(chan error, 1)}
	node, err := transport.New(transport.Options{
		Self: transport.ID(sim.ID(1)), Listener: listener, Handler: r,
		Handshake: func(p *transport.Peer, _ []byte) ([]byte, error) {
			p.ID, p.Incarnation = transport.ID(sim.ID(2)), 1
			return []byte{0x90}, nil
		},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, node.Close(context.WithoutCancel(tb.Context()))) })
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, conn.Close()) })
	_, err = conn.Write([]byte{0, 0, 0, 1, 0x90}) // hello of the peer
	require.NoError(tb, err)
	beat := fd.Heartbeat{Digest: 1 << 60}
	c, err := wire.NewCodec(beat)
	require.NoError(tb, err)
	payload, err := c.Append(nil, beat)
	require.NoError(tb, err)
	var batch []byte
	for range batchOfFrames {
		batch = append(binary.BigEndian.AppendUint32(batch, uint32(len(payload))), payload...)
	}
	return func() (int, error) {
		if _, err := conn.Write(batch); err != nil {
			return 0, err
		}
		return batchOfFrames, <-r.batch
	}
}

// receiver reports each complete batch of frames, and the reason if no more frames come.
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
	case r.batch <- why:
	default: // no batch is awaited
	}
}

func (r *receiver) DialFailed(transport.Target, error) {}

// stepping delivers a message of the lowest node to the leader of five: the whole engine with
// detector and algorithm, without the sending.
func stepping(m algo.Message) func(testing.TB) func() (int, error) {
	return func(tb testing.TB) func() (int, error) {
		const nodes = 5
		timing := algo.LAN()
		var list []string
		var all []algo.Member
		for i := 1; i <= nodes; i++ {
			name := sim.Name(sim.ID(i))
			all, list = append(all, algo.Member{ID: sim.ID(i), Name: name, Addr: name + ":7400", Eligible: true}), append(list, name+":7400")
		}
		e := engine.New(engine.Config{
			MemberConfig: engine.MemberConfig{Self: all[nodes-1], List: list}, Spec: bullySpec(tb, timing),
			Detector: fd.New(algo.Timing{
				Heartbeat: timing.Heartbeat, Timeout: timing.Timeout, MaxTimeout: timing.MaxTimeout, TimeoutDecay: timing.TimeoutDecay,
				MinRedial: timing.MinRedial, MaxRedial: timing.MaxRedial,
			}),
			Pick: func(least, _ time.Duration) time.Duration { return least },
		})
		e.Start(0)
		for _, m := range all[:nodes-1] {
			e.Up(0, engine.Peer{ID: m.ID, Name: m.Name, Incarnation: 1, Addr: m.Addr})
			e.Receive(0, m.ID, membership.Self{Member: membership.MemberOf(m)})
		}
		lowest, now := sim.ID(1), time.Duration(0)
		for l, _ := e.Leader(); l.IsVacant(); l, _ = e.Leader() { // the node first asks the other nodes
			now, _ = e.Deadline()
			e.Wake(now)
		}
		l, _ := e.Leader()
		require.Equal(tb, sim.ID(nodes), l.ID, "the highest leads")
		if beat, ok := m.(fd.Heartbeat); ok {
			beat.Digest = e.Digest() // another digest would be answered with the config
			m = beat
		}
		return func() (int, error) {
			now += time.Microsecond
			if out := e.Receive(now, lowest, m); len(out.Rejections) > 0 {
				return 0, out.Rejections[0].Reason
			}
			return 1, nil
		}
	}
}

// saving saves as many bytes as a vote has (an epoch, an ID and a word) in the data directory of the other benchmarks.
func saving(open func(dir string) (*store.Store, error)) func(testing.TB) func() (int, error) {
	return func(tb testing.TB) func() (int, error) {
		dir := tb.TempDir()
		if onDisk, err := dataDir(); err == nil {
			dir, err = os.MkdirTemp(onDisk, "parts-")
			require.NoError(tb, err)
			tb.Cleanup(func() { require.NoError(tb, os.RemoveAll(dir)) })
		}
		s, err := open(dir)
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, s.Close()) })
		_, err = s.Load()
		require.NoError(tb, err)
		value := make([]byte, 48)
		return func() (int, error) {
			binary.BigEndian.PutUint64(value, binary.BigEndian.Uint64(value)+1)
			return 1, s.Save(value)
		}
	}
}

// elections runs elections of 30 nodes in the simulator, one after another. The lowest node asks all
// higher nodes, and each of them asks all nodes above it.
func elections(tb testing.TB) func() (int, error) {
	const nodes, oneWay = 30, election.OneWay
	timing := algo.LAN()
	timing.RoundTrip = 2 * oneWay
	w := sim.New(sim.Config{
		Spec: bullySpec(tb, timing, [2]string{"skip_suspected", "false"}), Timing: timing, Detector: sim.Scripted, Delay: sim.Fixed(oneWay), Budget: 1 << 62,
	})
	require.NoError(tb, w.Cluster(nodes))
	w.Run(time.Second)
	return func() (int, error) {
		before := w.Frames()
		err := w.Do("campaign n1")
		w.Run(8 * oneWay)
		return int(w.Frames() - before), err
	}
}

// heartbeats runs five idle nodes in the simulator for a minute of virtual time.
func heartbeats(tb testing.TB) func() (int, error) {
	const nodes = 5
	w := sim.New(sim.Config{Spec: bullySpec(tb, algo.LAN()), Delay: sim.Uniform(time.Millisecond, election.OneWay), Seed: 1, Budget: 1 << 62})
	require.NoError(tb, w.Cluster(nodes))
	w.Run(time.Second)
	return func() (int, error) {
		before := w.Frames()
		w.Run(time.Minute)
		return int(w.Frames() - before), nil
	}
}

func exploring(tb testing.TB) explore.Options {
	const oneWay = election.OneWay
	return explore.Options{Spec: bullySpec(tb, algo.Timing{RoundTrip: 2 * oneWay, Heartbeat: 12 * oneWay}), Nodes: 3, Epochs: 2, Crashes: 1, FalseSuspicions: 1}
}

// search visits the first 100,000 states of three nodes with one crash and one false suspicion.
func search(tb testing.TB) func() (int, error) {
	o := exploring(tb)
	o.Limits.States = 100_000
	return func() (int, error) {
		r, err := explore.Run(tb.Context(), o)
		return r.Generated, err
	}
}

// walk takes 100,000 random steps through the states.
func walk(tb testing.TB) func() (int, error) {
	o := exploring(tb)
	return func() (int, error) {
		r, err := explore.Walk(tb.Context(), o, explore.WalkOptions{Seed: 1, Steps: 100_000})
		return r.Generated, err
	}
}

// bullySpec returns the algorithm that the parts run.
func bullySpec(tb testing.TB, t algo.Timing, options ...[2]string) algo.Spec {
	tb.Helper()
	spec, err := bully.Factory(t, election.Options(options))
	require.NoError(tb, err)
	return spec
}
