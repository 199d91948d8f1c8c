package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/bench/election"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/trace"
)

// Where the nodes run.
const (
	simulator  = "simulator"
	oneProcess = "one-process"
	processes  = "processes"
)

// wireCase is a kind of election of live nodes over TCP on the loopback. No timer ends during the
// election, because the timeouts are long. So the messages can be compared one by one with those
// of the simulator in the same election.
//
//   - "highest-starts", of bully: the application starts a campaign at the leader.
//   - "third-starts", of bully: it starts a campaign at the third highest node. With a lower node
//     the count depends on the speed of the processes: a process that already knows the outcome
//     starts another election when a lower process asks it.
//   - "one-starts", of ring and vote: it starts a campaign at a random node.
//
// The worst cases of bully and the vote of the source are missing: a timeout ends them.
type wireCase struct {
	Algorithm, Name string
	// Preset is the timing of the nodes. During the election no timer may end and no node may be
	// suspected for missing heartbeats, even if many nodes share few cores.
	Preset string
	// Options are the options of the algorithm that differ from the preset, as name and value.
	Options [][2]string
	// LeaderStays: no node changes its leader in the election.
	LeaderStays bool
	// Racing are kinds with a number that depends on the speed of the nodes, although the sum changes
	// little. In a vote, a server that hears of the winner before all claims does not vote. If a
	// message of a server arrives after the victory, the winner sends it another Lead.
	Racing []string

	next func(e *theory.Election, random *rand.Rand) // sets the initiators and crashes of the next election
}

// nameOn returns the name of the benchmark with n nodes.
func (c wireCase) nameOn(host string, n int) string {
	return result.Name(result.Wire, "host", host, "algorithm", c.Algorithm, "case", c.Name, "n", n)
}

// racing contains the racing kinds of vote.
var racing = []string{"vote", "lead"}

// wireCases returns the cases without a killed node.
func wireCases() []wireCase {
	anyNode := func(e *theory.Election, random *rand.Rand) { e.Initiators = []int{1 + random.IntN(e.N)} }
	highest := func(e *theory.Election, _ *rand.Rand) { e.Initiators = []int{e.N} }
	third := func(e *theory.Election, _ *rand.Rand) { e.Initiators = []int{e.N - 2} }
	return []wireCase{
		{Algorithm: "bully", Name: "highest-starts", Preset: "wan", next: highest},
		{Algorithm: "bully", Name: "third-starts", Preset: "wan", LeaderStays: true, next: third},
		{Algorithm: "ring", Name: "one-starts", Preset: "wan", next: anyNode},
		{Algorithm: "vote", Name: "one-starts", Preset: "wan", Racing: racing, next: anyNode},
	}
}

// live is a cluster of live nodes on the loopback, n1 to nN, in this process or in processes.
type live interface {
	statuses(ctx context.Context) (map[string]cluster.Status, error)
	// prepare makes the nodes ready for an election.
	prepare(ctx context.Context) error
	// startElection starts the election e.
	startElection(ctx context.Context, e theory.Election) error
	// waitAgreed waits until all running nodes agree on a leader in an epoch above the given one and
	// are idle. It returns that epoch.
	waitAgreed(ctx context.Context, above uint64) (epoch uint64, err error)
	close() error
}

// wired is a live cluster with counted elections.
type wired struct {
	wireCase
	live
	n        int
	registry algo.Registry
	log      *messageLog
	left     func(events []trace.Event) time.Duration // see flights
	spec     algo.Spec
}

// wire returns a wired for n nodes, without the nodes.
func (c wireCase) wire(registry algo.Registry, n int) (*wired, error) {
	timing := algo.Presets()[c.Preset]
	spec, err := election.Spec(registry, c.Algorithm, timing, c.Options)
	return &wired{wireCase: c, n: n, registry: registry, log: newMessageLog(), left: atOnce, spec: spec}, err
}

// start starts n nodes in this process.
func (c wireCase) start(ctx context.Context, registry algo.Registry, n int, with ...nodeOption) (*wired, error) {
	w, err := c.wire(registry, n)
	if err != nil {
		return nil, err
	}
	algorithm := func(t algo.Timing, _ func(any) error) (algo.Spec, error) {
		return election.Spec(registry, c.Algorithm, t, c.Options)
	}
	config := cluster.Config{Algorithm: algorithm, Timing: algo.Presets()[c.Preset], AllowTextbook: true, Lease: lease.Off}
	if w.live, err = startLocal(ctx, config, n, w.log.see, append(with, w.recordMessages)...); err != nil {
		return nil, err
	}
	return w, w.waitConnected(ctx)
}

// recordMessages adds a node's messages to the log.
func (w *wired) recordMessages(l *local, node string, _ net.Listener, c *cluster.Config) {
	clock, kinds := proccluster.NewClockConverter(), election.Kinds(w.spec)
	c.Trace = func(e trace.Event) {
		if isOfElection(e, kinds) {
			e.At = time.Duration(clock.Convert(time.Now()))
			l.handleEvent(node, e)
		}
	}
}

// waitConnected waits until every node knows all members and follows one leader. It then runs two
// elections, so that all needed connections exist. If it fails, it stops the nodes.
func (w *wired) waitConnected(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for missing := 1; missing > 0; {
		if _, err := w.waitAgreed(ctx, 0); err != nil {
			return err
		}
		all, err := w.statuses(ctx)
		if err != nil {
			return err
		}
		missing = 0
		for _, status := range all {
			missing += w.n - len(status.Members)
		}
	}
	// The first election over a connection includes the dial.
	for range 2 {
		epoch, err := w.waitAgreed(ctx, 0)
		if err == nil {
			err = w.startElection(ctx, theory.Election{N: w.n, Initiators: []int{w.n}})
		}
		if err == nil {
			_, err = w.waitAgreed(ctx, epoch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wireRound is one election.
type wireRound struct {
	Election theory.Election
	counted
	// Simulated is the count of the simulator in the same election.
	Simulated counted
	// Flights are the one-way times of the messages, from the sender's transport to the receiver's
	// loop.
	Flights []time.Duration
	notes   map[string][]trace.Event
	// Turnaround is the time from the first message until the last node knew its leader, by the
	// timestamps of the nodes; zero if no node changed its leader. Multiple is the turnaround of the
	// theory, in T.
	Turnaround time.Duration
	Multiple   float64
}

// T returns the mean one-way time of a message in this election, in ms.
func (r wireRound) T() float64 { return stats.Milliseconds(r.Flights).Mean }

// InT returns the turnaround in T; zero if there was none.
func (r wireRound) InT() float64 {
	if len(r.Flights) == 0 {
		return 0
	}
	return stats.MS(r.Turnaround) / r.T()
}

// Exact reports whether the nodes sent and received what the simulator counts, except for racing
// kinds.
func (r wireRound) Exact(racing []string) bool {
	same := func(got, want counts) bool {
		for _, kind := range slices.Concat(slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want))) {
			if got[kind] != want[kind] && !slices.Contains(racing, kind) {
				return false
			}
		}
		return true
	}
	return same(r.Sent, r.Simulated.Sent) && same(r.Received, r.Simulated.Received)
}

// errWire reports that live nodes sent other messages than the simulator.
var errWire = errors.New("bench: the count on the wire is not that of the simulator")

// round runs an election and counts it. Its error is errWire if the count differs from that of the
// simulator in a kind that does not race.
func (w *wired) round(ctx context.Context, random *rand.Rand) (wireRound, error) {
	if err := w.prepare(ctx); err != nil {
		return wireRound{}, err
	}
	epoch, err := w.waitAgreed(ctx, 0)
	if err != nil {
		return wireRound{}, err
	}
	before, err := w.statuses(ctx)
	if err != nil {
		return wireRound{}, err
	}
	e := theory.Election{N: w.n}
	if w.Algorithm == "ring" {
		for _, m := range before[proccluster.Name(1)].Members { // in the order of IDs
			e.Order = append(e.Order, proccluster.Number(m.Name))
		}
	}
	w.next(&e, random)
	row, known := theory.For(w.Algorithm, "detector", theory.Single, e)
	if !known {
		return wireRound{}, fmt.Errorf("%w: of %+v the theory says nothing", election.ErrTheory, e)
	}
	r := wireRound{Election: e, Multiple: row.Turnaround.At(e)}
	if r.Simulated, err = w.simulated(ctx, row, e); err != nil {
		return r, err
	}
	w.log.take() // drop earlier events
	if err := w.startElection(ctx, e); err != nil {
		return r, err
	}
	if w.LeaderStays {
		epoch = 0
	}
	if _, err := w.waitAgreed(ctx, epoch); err != nil {
		return r, err
	}
	notes := w.log.take()
	r.Turnaround, r.Flights, r.notes = turnaround(notes), flights(notes, namesOf(before), w.left), notes
	r.counted = count(notes)
	if !r.Exact(w.Racing) {
		return r, fmt.Errorf("%w: %s, %s, N=%d: sent %v, received %v; want %v and %v",
			errWire, w.Algorithm, w.Name, w.n, r.Sent, r.Received, r.Simulated.Sent, r.Simulated.Received)
	}
	return r, nil
}

// namesOf returns the names of the nodes by ID.
func namesOf(statuses map[string]cluster.Status) map[string]string {
	names := make(map[string]string)
	for name, status := range statuses {
		names[status.Node.String()] = name
	}
	return names
}

// simulated returns the count of the simulator.
func (w *wired) simulated(ctx context.Context, row theory.Row, e theory.Election) (counted, error) {
	o, err := election.Simulation(w.registry, row, e)
	if err != nil {
		return counted{}, err
	}
	var notes []trace.Event
	kinds := election.Kinds(w.spec)
	o.Trace = func(e trace.Event) {
		if isOfElection(e, kinds) {
			notes = append(notes, e)
		}
	}
	r, err := election.Simulate(ctx, o)
	before := func(e trace.Event) bool { return e.At < r.Began }
	return count(map[string][]trace.Event{simulator: slices.DeleteFunc(notes, before)}), err
}

// values returns r by metric: the messages and, if a node changed its leader, the turnaround.
func (r wireRound) values() figures {
	values := figures{result.MetricSent: float64(algosim.Total(r.Sent)), result.MetricDelivered: float64(algosim.Total(r.Received))}
	if r.Turnaround > 0 {
		values[result.MetricTurnaround], values[result.MetricElect], values[result.MetricT] = r.InT(), stats.MS(r.Turnaround), r.T()
	}
	return values
}
