package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/bench/theory"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/wait"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// Where live nodes run.
const (
	OneProcess = "one-process"
	Processes  = "processes"
)

// WireCase is a kind of election of live nodes, over TCP on the loopback, that no timer
// takes part in: timeouts are long, and only bound it. So what is sent can be compared
// with what the simulator sends in the same election, message by message.
//
//   - "highest-starts", of bully: the application calls for an election at the leader.
//   - "third-starts", of bully: it does so at the third highest. That is the lowest for
//     which the count does not depend on who is how fast: asked by one below it, a process
//     that has its outcome already would begin another election.
//   - "one-starts", of ring and vote: it does so anywhere.
//   - "leader-crash": the leader is killed, and its kernel shows that at once. In the ring
//     only the process before the leader watches it, and starts.
//
// The worst cases of bully are not among them, nor vote as its source has it: a timeout is
// what ends them.
type WireCase struct {
	Algorithm, Name string
	// Preset is the timing of the nodes. No timer of it may end meanwhile, and nobody be
	// suspected for want of a heartbeat, also where many share few cores.
	Preset string
	// Options of the algorithm, as name and value, that differ from those of the preset.
	Options [][2]string
	// Pause is what processes need before an election, to be at rest: after one of ring they
	// save the epoch of the next, so that it need not wait for that.
	Pause time.Duration
	// Crash is for nodes that are processes.
	Crash bool
	// LeaderStays: the election changes nobody's mind.
	LeaderStays bool
	// Racing are kinds whose number depends on who is how fast, although the sum changes
	// little: in a vote, who hears of the winner before it has heard all claims need not
	// vote, and who is heard after it has won is told once more.
	Racing []string

	starts func(n int, random *rand.Rand) int // the rank of who calls for an election, unless there is a crash
}

// WireCases returns all of them.
func WireCases() []WireCase {
	anybody := func(n int, random *rand.Rand) int { return 1 + random.IntN(n) }
	racing := []string{"vote", "lead"}
	highest := func(n int, _ *rand.Rand) int { return n }
	third := func(n int, _ *rand.Rand) int { return n - 2 }
	heartbeat := [][2]string{{"heartbeat_interval", "1s"}} // for that long who comes back knows no leader
	const reserve = 1050 * time.Millisecond                // twice the T of ring, and some more
	return []WireCase{
		{Algorithm: "bully", Name: "highest-starts", Preset: "wan", starts: highest},
		{Algorithm: "bully", Name: "third-starts", Preset: "wan", LeaderStays: true, starts: third},
		{Algorithm: "bully", Name: "leader-crash", Preset: "wan", Crash: true},
		{Algorithm: "ring", Name: "one-starts", Preset: "wan", Pause: reserve, starts: anybody},
		{Algorithm: "ring", Name: "leader-crash", Preset: "wan", Pause: reserve, Crash: true},
		{Algorithm: "vote", Name: "one-starts", Preset: "wan", Racing: racing, starts: anybody},
		{Algorithm: "vote", Name: "leader-crash", Preset: "wan", Options: heartbeat, Racing: racing, Crash: true},
	}
}

// Wired is a live cluster whose elections are counted.
type Wired struct {
	Case WireCase
	Host string
	N    int

	live    live
	journal *journal
	taps    *taps // of OneProcess
	spec    algo.Spec
}

// Start starts n nodes. For Processes it takes what they are made of from config, whose
// nodes and flags c decides.
func (c WireCase) Start(ctx context.Context, host string, config fleet.Config, n int) (*Wired, error) {
	if c.Crash && host != Processes {
		return nil, errNoCrash
	}
	timing := cluster.Presets()[c.Preset]
	spec, err := Spec(c.Algorithm, timing, c.Options)
	if err != nil {
		return nil, err
	}
	w := &Wired{Case: c, Host: host, N: n, journal: newJournal(), spec: spec}
	if host == Processes {
		w.live, err = c.startProcesses(ctx, config, n, w.journal)
	} else if w.taps, err = newTaps(spec); err == nil {
		w.live, err = c.startLocal(ctx, n, w.journal, w.taps, kindsOf(spec.Messages))
	}
	if err != nil {
		return nil, err
	}
	if err := w.acquainted(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// acquainted waits until every node follows one leader and is connected to it or to
// whom it needs: an election settles that, and it has every member in it.
func (w *Wired) acquainted(ctx context.Context) error {
	for {
		if _, err := w.live.settle(ctx, 0); err != nil {
			return err
		}
		all, err := counters(ctx, w.live)
		if err != nil {
			return err
		}
		strangers := 0
		for _, status := range all {
			strangers += w.N - len(status.Members)
		}
		if strangers == 0 {
			break
		}
	}
	// The first election over a connection pays for the dial.
	for range 2 {
		epoch, err := w.live.settle(ctx, 0)
		if err == nil {
			err = w.live.campaign(ctx, nodeName(w.N))
		}
		if err == nil {
			_, err = w.live.settle(ctx, epoch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close stops the nodes, and says if anything of them is left.
func (w *Wired) Close() error { return w.live.close() }

// WireRound is one election.
type WireRound struct {
	Election theory.Election
	Counted
	// Sockets is what was read from the sockets, by kind; nil where that was not looked at.
	Sockets Kinds
	// Simulated is what the simulator counts in the same election.
	Simulated Counted
	// Flights are how long each message took, one way: from the sender's transport to the
	// receiver's loop. Saves are how long what nodes saved took.
	Flights, Saves []time.Duration
	// Turnaround is from the first message of the election until the last node knew, by
	// their own stamps; zero where nobody changed its mind. In T the theory says Multiple.
	Turnaround time.Duration
	Multiple   float64
}

// T is how long a message took in this election, one way, on the mean.
func (r WireRound) T() time.Duration {
	if len(r.Flights) == 0 {
		return 0
	}
	var sum time.Duration
	for _, f := range r.Flights {
		sum += f
	}
	return sum / time.Duration(len(r.Flights))
}

// InT is the turnaround in that T.
func (r WireRound) InT() float64 {
	if r.T() == 0 {
		return 0
	}
	return float64(r.Turnaround) / float64(r.T())
}

// Exact reports whether the nodes sent, and received, what the simulator counts, but for
// kinds that race.
func (r WireRound) Exact(racing []string) bool {
	same := func(got, want Kinds) bool {
		for _, kind := range slices.Concat(slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want))) {
			if got[kind] != want[kind] && !slices.Contains(racing, kind) {
				return false
			}
		}
		return true
	}
	return same(r.Sent, r.Simulated.Sent) && same(r.Received, r.Simulated.Received) &&
		(r.Sockets == nil || same(r.Sockets, r.Simulated.Received))
}

// ErrWire says that live nodes did not send what the simulator sends.
var ErrWire = errors.New("bench: the count on the wire is not that of the simulator")

// Round has an election happen and counts it. Its error is ErrWire where the count must
// be that of the simulator and is not.
func (w *Wired) Round(ctx context.Context, random *rand.Rand) (WireRound, error) {
	epoch, err := w.atRest(ctx)
	if err != nil {
		return WireRound{}, err
	}
	before, err := counters(ctx, w.live)
	if err != nil {
		return WireRound{}, err
	}
	e := w.election(before, random)
	row, known := theory.For(w.Case.Algorithm, "detector", theory.Single, e)
	if !known {
		return WireRound{}, fmt.Errorf("%w: of %+v the theory says nothing", ErrTheory, e)
	}
	r := WireRound{Election: e, Multiple: row.Turnaround.At(e)}
	if r.Simulated, err = simulated(ctx, row, e); err != nil {
		return r, err
	}
	w.journal.take() // what was before is over
	if w.taps != nil {
		w.taps.clear()
	}
	if err := w.begin(ctx, e); err != nil {
		return r, err
	}
	if w.Case.LeaderStays {
		epoch = 0
	}
	if _, err := w.live.settle(ctx, epoch); err != nil {
		return r, err
	}
	notes := w.journal.take()
	r.Turnaround, r.Flights, r.Saves = turnaround(notes), flights(notes, namesOf(before)), saves(notes)
	after, err := counters(ctx, w.live)
	if err != nil {
		return r, err
	}
	r.Counted = between(before, after, slices.Collect(maps.Keys(kindsOf(w.spec.Messages))))
	if w.taps != nil {
		r.Sockets = w.taps.counts()
	}
	if err := w.live.restore(ctx); err != nil {
		return r, err
	}
	if !r.Exact(w.Case.Racing) {
		return r, fmt.Errorf("%w: %s, %s, N=%d: sent %v, received %v, on the sockets %v; want %v and %v",
			ErrWire, w.Case.Algorithm, w.Case.Name, w.N, r.Sent, r.Received, r.Sockets, r.Simulated.Sent, r.Simulated.Received)
	}
	return r, nil
}

// atRest waits until nothing is going on any more: in the epoch that it returns.
func (w *Wired) atRest(ctx context.Context) (epoch uint64, err error) {
	pause := w.Case.Pause
	if w.Host == OneProcess {
		pause = 0 // in memory a save takes no time
	}
	if err := wait.For(ctx, pause); err != nil {
		return 0, err
	}
	return w.live.settle(ctx, 0)
}

// begin has the election begin.
func (w *Wired) begin(ctx context.Context, e theory.Election) error {
	if w.Case.Crash {
		return w.live.crash(ctx)
	}
	return w.live.campaign(ctx, nodeName(e.Initiators[0]))
}

// election is what is about to happen, as the theory sees it.
func (w *Wired) election(statuses map[string]cluster.Status, random *rand.Rand) theory.Election {
	e := theory.Election{N: w.N}
	if w.Case.Algorithm == "ring" {
		for _, m := range statuses[nodeName(1)].Members { // in the order of IDs
			e.Order = append(e.Order, number(m.Name))
		}
	}
	if !w.Case.Crash {
		e.Initiators = []int{w.Case.starts(w.N, random)}
		return e
	}
	e.Crashed = 1
	if w.Case.Algorithm == "ring" {
		e.Initiators = []int{e.Before(e.N)}
	}
	return e
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
func simulated(ctx context.Context, row theory.Row, e theory.Election) (Counted, error) {
	o, err := Simulation(row, e)
	if err != nil {
		return Counted{}, err
	}
	type arrival struct {
		at   time.Duration
		kind string
	}
	var arrivals []arrival
	o.Trace = func(e trace.Event) {
		if e.Kind == trace.Deliver {
			arrivals = append(arrivals, arrival{e.At, e.Message.Kind()})
		}
	}
	result, err := sim.Run(ctx, o)
	if err != nil {
		return Counted{}, err
	}
	if len(result.Violations) > 0 {
		return Counted{}, result.Violations[0]
	}
	c := Counted{Sent: make(Kinds), Received: make(Kinds)}
	for kind, n := range result.Kinds {
		c.Sent[kind] = int(n)
	}
	for _, a := range arrivals {
		if a.at > result.Began {
			c.Received[a.kind]++
		}
	}
	return c, nil
}
