package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/wait"
)

// Case is one way in which a cluster loses its leader.
type Case struct {
	Algorithm  string
	Signal     fleet.Signal // or one of Drop, DropOut and DropIn
	Nodes      int
	Dead       int  // of those, besides the leader: the highest, who may be next in line
	NoEvidence bool // only silence counts
}

// Beside signals, what the network can do: the leader's packets are lost, both ways, or
// those that it sends, or those that it is sent. Nobody is told.
const (
	Drop    fleet.Signal = "drop"
	DropOut fleet.Signal = "drop-out"
	DropIn  fleet.Signal = "drop-in"
)

// cut reports whether it is the network that takes the leader away.
func (c Case) cut() bool { return c.Signal == Drop || c.Signal == DropOut || c.Signal == DropIn }

// Name is the case as part of the name of a benchmark.
func (c Case) Name() string {
	name := fmt.Sprintf("algorithm=%s/signal=%s", c.Algorithm, c.Signal)
	if c.NoEvidence {
		name += "/evidence=off"
	}
	if c.Dead > 0 {
		name += "/dead=" + strconv.Itoa(c.Dead)
	}
	return name + "/n=" + strconv.Itoa(c.Nodes)
}

// Result is one round.
type Result struct {
	fleet.Failover
	Recovery fleet.Recovery

	Observed  time.Duration   // from the signal, as an [Observation] has it; 0 if nobody observed
	Questions []time.Duration // see there
}

// Series is a cluster that loses its leader again and again.
type Series struct {
	Case   Case
	claims algo.Claims
	fleet  *fleet.Fleet
	lab    *netlab.Lab // where packets can be lost; else nil
}

// Start starts a cluster for c, out of config, whose nodes and flags c decides. When it
// returns all agree on a leader, and those that are to be dead are.
func (c Case) Start(ctx context.Context, config fleet.Config) (*Series, error) {
	spec, err := c.spec()
	if err != nil {
		return nil, err
	}
	config.Nodes = c.Nodes
	config.Args = append(slices.Clone(config.Args), "--algorithm", c.Algorithm)
	if spec.Textbook {
		config.Args = append(config.Args, "--lesson")
	}
	if c.NoEvidence {
		config.Args = append(config.Args, "--no-evidence")
	}
	s := &Series{Case: c, claims: spec.Claims}
	if c.cut() {
		if s.lab, err = netlab.New(c.Nodes); err != nil {
			return nil, err
		}
		config.Hosts = hostsOf(s.lab, c.Nodes)
	}
	if s.fleet, err = fleet.New(ctx, config); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func nodeName(number int) string { return "n" + strconv.Itoa(number) }

// spec is the algorithm with its defaults, for what it claims.
func (c Case) spec() (algo.Spec, error) {
	factory, ok := builtin.Registry()[c.Algorithm]
	if !ok {
		return algo.Spec{}, fmt.Errorf("bench: algorithm %q is unknown", c.Algorithm)
	}
	timing := cluster.LAN()
	return factory(timing, func(any) error { return nil })
}

func (s *Series) prepare(ctx context.Context) error {
	leader, err := s.expect(ctx)
	if err != nil {
		return err
	}
	for i, dead := s.Case.Nodes, 0; dead < s.Case.Dead; i-- {
		if nodeName(i) == leader.Name {
			continue
		}
		if _, err := s.fleet.Signal(nodeName(i), fleet.Kill); err != nil {
			return err
		}
		dead++
	}
	_, err = s.expect(ctx)
	return err
}

// expect waits until it is quiet, and returns who leads; it says if that should be
// another.
func (s *Series) expect(ctx context.Context) (fleet.State, error) {
	leader, err := s.fleet.Settle(ctx)
	if err == nil && s.claims.HighestLeads && leader.Name != nodeName(s.Case.Nodes) {
		err = fmt.Errorf("bench: %s leads, want the highest of %d", leader.Name, s.Case.Nodes)
	}
	return leader, err
}

// Round takes the leader away after a pause, and has it come back. Its error may be
// that what happened was not right. While an observer asks, it takes processor time
// from the nodes: rounds with one and rounds without are not to be mixed.
func (s *Series) Round(ctx context.Context, pause time.Duration, observed bool) (Result, error) {
	if err := wait.For(ctx, pause); err != nil {
		return Result{}, err
	}
	strike, err := s.strike()
	if err != nil {
		return Result{}, err
	}
	var r Result
	if observed {
		seen, err := Observe(ctx, s.survivors(), strike.Leader)
		if err != nil {
			return Result{}, err
		}
		r.Observed, r.Questions = time.Duration(seen.At-strike.At), seen.Questions
	}
	if r.Failover, err = strike.Settle(ctx); err != nil {
		return r, err
	}
	if s.Case.cut() {
		r.Recovery, err = s.fleet.Rejoin(ctx, strike.Leader.Name, s.lab.Heal)
	} else {
		r.Recovery, err = s.fleet.Recover(ctx, strike.Leader.Name)
	}
	if err != nil {
		return r, err
	}
	return r, s.check(r)
}

// strike takes the leader away.
func (s *Series) strike() (*fleet.Strike, error) {
	if !s.Case.cut() {
		return s.fleet.Strike(s.Case.Signal)
	}
	return s.fleet.Isolate(s.Case.Signal, func(leader fleet.State) error {
		var others []int
		host := -1
		for i := range s.Case.Nodes {
			if nodeName(i+1) == leader.Name {
				host = i
			} else {
				others = append(others, i)
			}
		}
		switch s.Case.Signal {
		case Drop:
			return s.lab.Split([]int{host}, others)
		case DropOut:
			return s.lab.Drop(host, others...)
		}
		for _, other := range others {
			if err := s.lab.Drop(other, host); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Series) survivors() []fleet.State {
	return slices.DeleteFunc(s.fleet.States(), func(n fleet.State) bool { return n.Life != fleet.Up })
}

// check says what was not right in a round. The fleet has seen to it that all who are
// up named one leader in one epoch.
func (s *Series) check(r Result) error {
	c := s.Case
	survivors := c.Nodes - 1 - c.Dead
	old, next := r.OldLeader, r.NewLeader
	back := next // who leads once the old leader is back: it follows
	if s.claims.HighestLeads {
		old, next = nodeName(c.Nodes), nodeName(survivors)
		back = old
	}
	switch {
	case r.OldLeader != old || r.NewLeader != next || r.NewLeader == r.OldLeader || r.Survivors != survivors:
		return fmt.Errorf("bench: %s followed %s with %d survivors, want %s after %s with %d",
			r.NewLeader, r.OldLeader, r.Survivors, next, old, survivors)
	case r.EpochAfter <= r.EpochBefore:
		return fmt.Errorf("bench: epoch %d follows epoch %d", r.EpochAfter, r.EpochBefore)
	// Not in every algorithm has an epoch one leader only: who returns may take for
	// itself the epoch that follows the last it knew.
	case r.Recovery.Leader != back || r.Recovery.EpochAfter < r.EpochAfter:
		return fmt.Errorf("bench: after the return of %s, %s leads in epoch %d; want %s, not in an epoch below %d",
			r.OldLeader, r.Recovery.Leader, r.Recovery.EpochAfter, back, r.EpochAfter)
	case r.Total() < survivors-1: // a new leader has to tell each of the others
		return fmt.Errorf("bench: %d messages were counted for %d survivors", r.Total(), survivors)
	case r.Failover.Failover <= 0:
		return fmt.Errorf("bench: the failover took %v", r.Failover.Failover)
	}
	return nil
}

// Total is how many messages of an election were sent.
func (r Result) Total() int {
	total := 0
	for _, n := range r.Messages {
		total += n
	}
	return total
}

// Close stops the cluster, and says if anything of it is left.
func (s *Series) Close() (err error) {
	if s.fleet != nil {
		err = closeFleet(s.fleet)
	}
	if s.lab != nil {
		err = errors.Join(err, s.lab.Close())
	}
	return err
}

func closeFleet(f *fleet.Fleet) error {
	nodes := f.States()
	err := f.Close()
	if _, left := os.Stat(f.Dir()); !errors.Is(left, fs.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("bench: the folder %s is left behind", f.Dir()))
	}
	for _, n := range nodes {
		if host, _, _ := net.SplitHostPort(n.Addr); !net.ParseIP(host).IsLoopback() {
			continue // of a network of its own, which went with it
		}
		if c, refused := net.Dial("tcp", n.Addr); refused == nil {
			_ = c.Close()
			err = errors.Join(err, fmt.Errorf("bench: something listens where %s did, at %s", n.Name, n.Addr))
		}
	}
	return err
}
