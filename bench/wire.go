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
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/sample"
	"github.com/elect-go/elect/trace"
)

// Where it happens.
const (
	simulator  = "simulator"
	oneProcess = "one-process"
	processes  = "processes"
)

// wireCase is a kind of election of live nodes, over TCP on the loopback, that no timer
// takes part in: timeouts are long, and only bound it. So what is sent can be compared
// with what the simulator sends in the same election, message by message.
//
//   - "highest-starts", of bully: the application calls for an election at the leader.
//   - "third-starts", of bully: it does so at the third highest. That is the lowest for
//     which the count does not depend on who is how fast: asked by one below it, a process
//     that has its outcome already would begin another election.
//   - "one-starts", of ring and vote: it does so anywhere.
//
// The worst cases of bully are not among them, nor vote as its source has it: a timeout is
// what ends them.
type wireCase struct {
	Algorithm, Name string
	// Preset is the timing of the nodes. No timer of it may end meanwhile, and nobody be
	// suspected for want of a heartbeat, also where many share few cores.
	Preset string
	// Options of the algorithm, as name and value, that differ from those of the preset.
	Options [][2]string
	// LeaderStays: the election changes nobody's mind.
	LeaderStays bool
	// Racing are kinds whose number depends on who is how fast, although the sum changes
	// little: in a vote, who hears of the winner before it has heard all claims need not
	// vote, and who is heard after it has won is told once more.
	Racing []string

	next func(e *theory.Election, random *rand.Rand) // what is about to happen, to so many nodes in that order
}

// nameOn is the name of its benchmark with n nodes.
func (c wireCase) nameOn(host string, n int) string {
	return result.Name(result.Wire, "host", host, "algorithm", c.Algorithm, "case", c.Name, "n", n)
}

// racing are those of vote.
var racing = []string{"vote", "lead"}

// wireCases returns those in which nobody is killed.
func wireCases() []wireCase {
	anybody := func(e *theory.Election, random *rand.Rand) { e.Initiators = []int{1 + random.IntN(e.N)} }
	highest := func(e *theory.Election, _ *rand.Rand) { e.Initiators = []int{e.N} }
	third := func(e *theory.Election, _ *rand.Rand) { e.Initiators = []int{e.N - 2} }
	return []wireCase{
		{Algorithm: "bully", Name: "highest-starts", Preset: "wan", next: highest},
		{Algorithm: "bully", Name: "third-starts", Preset: "wan", LeaderStays: true, next: third},
		{Algorithm: "ring", Name: "one-starts", Preset: "wan", next: anybody},
		{Algorithm: "vote", Name: "one-starts", Preset: "wan", Racing: racing, next: anybody},
	}
}

// live is a cluster of live nodes on the loopback, n1 to nN, wherever they run.
type live interface {
	statuses(ctx context.Context) (map[string]cluster.Status, error)
	// prepare makes the nodes ready for an election.
	prepare(ctx context.Context) error
	// begin has it begin.
	begin(ctx context.Context, e theory.Election) error
	// settle returns when all that run agree on a leadership of an epoch above that one, and
	// nothing happens any more: its epoch.
	settle(ctx context.Context, above uint64) (epoch uint64, err error)
	close() error
}

// wired is a live cluster whose elections are counted.
type wired struct {
	wireCase
	live
	n        int
	registry algo.Registry
	journal  *journal
	left     func(events []trace.Event) time.Duration // see flights
	spec     algo.Spec
}

// wire makes what n nodes need.
func (c wireCase) wire(registry algo.Registry, n int) (*wired, error) {
	timing := algo.Presets()[c.Preset]
	spec, err := election.Spec(registry, c.Algorithm, timing, c.Options)
	return &wired{wireCase: c, n: n, registry: registry, journal: newJournal(), left: atOnce, spec: spec}, err
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
	if w.live, err = startLocal(ctx, config, n, w.journal.see, append(with, w.noted)...); err != nil {
		return nil, err
	}
	return w, w.acquainted(ctx)
}

// noted has a node's messages journaled.
func (w *wired) noted(l *local, node string, _ net.Listener, c *cluster.Config) {
	clock, kinds := fleet.NewStamper(), election.Kinds(w.spec)
	c.Trace = func(e trace.Event) {
		if isOfElection(e, kinds) {
			e.At = time.Duration(clock.Stamp(time.Now()))
			l.hear(node, e)
		}
	}
}

// acquainted waits until every node follows one leader and is connected to it or to
// whom it needs: an election settles that, and it has every member in it. If it fails, the
// nodes are stopped.
func (w *wired) acquainted(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for strangers := 1; strangers > 0; {
		if _, err := w.settle(ctx, 0); err != nil {
			return err
		}
		all, err := w.statuses(ctx)
		if err != nil {
			return err
		}
		strangers = 0
		for _, status := range all {
			strangers += w.n - len(status.Members)
		}
	}
	// The first election over a connection pays for the dial.
	for range 2 {
		epoch, err := w.settle(ctx, 0)
		if err == nil {
			err = w.begin(ctx, theory.Election{N: w.n, Initiators: []int{w.n}})
		}
		if err == nil {
			_, err = w.settle(ctx, epoch)
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
	// Simulated is what the simulator counts in the same election.
	Simulated counted
	// Flights are how long each message took, one way: from the sender's transport to the
	// receiver's loop.
	Flights []time.Duration
	notes   map[string][]trace.Event
	// Turnaround is from the first message of the election until the last node knew, by
	// their own stamps; zero where nobody changed its mind. In T the theory says Multiple.
	Turnaround time.Duration
	Multiple   float64
}

// T is how long a message took in this election, one way, on the mean, in ms.
func (r wireRound) T() float64 { return sample.Milliseconds(r.Flights).Mean }

// InT is the turnaround in that T; zero if there was none.
func (r wireRound) InT() float64 {
	if len(r.Flights) == 0 {
		return 0
	}
	return sample.MS(r.Turnaround) / r.T()
}

// Exact reports whether the nodes sent, and received, what the simulator counts, but for
// kinds that race.
func (r wireRound) Exact(racing []string) bool {
	same := func(got, want tally) bool {
		for _, kind := range slices.Concat(slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want))) {
			if got[kind] != want[kind] && !slices.Contains(racing, kind) {
				return false
			}
		}
		return true
	}
	return same(r.Sent, r.Simulated.Sent) && same(r.Received, r.Simulated.Received)
}

// errWire says that live nodes did not send what the simulator sends.
var errWire = errors.New("bench: the count on the wire is not that of the simulator")

// round has an election happen and counts it. Its error is errWire where the count must
// be that of the simulator and is not.
func (w *wired) round(ctx context.Context, random *rand.Rand) (wireRound, error) {
	if err := w.prepare(ctx); err != nil {
		return wireRound{}, err
	}
	epoch, err := w.settle(ctx, 0)
	if err != nil {
		return wireRound{}, err
	}
	before, err := w.statuses(ctx)
	if err != nil {
		return wireRound{}, err
	}
	e := theory.Election{N: w.n}
	if w.Algorithm == "ring" {
		for _, m := range before[fleet.Name(1)].Members { // in the order of IDs
			e.Order = append(e.Order, fleet.Number(m.Name))
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
	w.journal.take() // what was before is over
	if err := w.begin(ctx, e); err != nil {
		return r, err
	}
	if w.LeaderStays {
		epoch = 0
	}
	if _, err := w.settle(ctx, epoch); err != nil {
		return r, err
	}
	notes := w.journal.take()
	r.Turnaround, r.Flights, r.notes = turnaround(notes), flights(notes, namesOf(before), w.left), notes
	r.counted = count(notes)
	if !r.Exact(w.Racing) {
		return r, fmt.Errorf("%w: %s, %s, N=%d: sent %v, received %v; want %v and %v",
			errWire, w.Algorithm, w.Name, w.n, r.Sent, r.Received, r.Simulated.Sent, r.Simulated.Received)
	}
	return r, nil
}

// namesOf are the names of nodes by ID.
func namesOf(statuses map[string]cluster.Status) map[string]string {
	names := make(map[string]string)
	for name, status := range statuses {
		names[status.Node.String()] = name
	}
	return names
}

// simulated is what the simulator counts.
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

// values is r by metric: what it cost, and, where anybody changed its mind, how long it took.
func (r wireRound) values() figures {
	values := figures{result.MetricSent: float64(algosim.Total(r.Sent)), result.MetricDelivered: float64(algosim.Total(r.Received))}
	if r.Turnaround > 0 {
		values[result.MetricTurnaround], values[result.MetricElect], values[result.MetricT] = r.InT(), sample.MS(r.Turnaround), r.T()
	}
	return values
}
