package bench

import (
	"strconv"
	"time"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// Simulator is the host of what is simulated.
const Simulator = "simulator"

// Trials returns s as trials: what it cost, and how long it took.
func (c SimulatedCase) Trials(s Simulated, round int, seed uint64) []result.Trial {
	labels := labels(c.Algorithm, Simulator, s.Election.N, result.Case, c.Name, result.Convention, c.Convention)
	return []result.Trial{
		{Group: result.Messages, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
			result.MetricSent: float64(s.Sent), result.MetricDelivered: float64(s.Delivered), result.MetricBytes: float64(s.Bytes),
		}},
		{Group: result.Turnaround, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
			result.MetricTurnaround: s.Turnaround,
		}},
	}
}

// Trials returns r as trials: what it cost, and, where anybody changed its mind, how long
// it took.
func (w *Wired) Trials(r WireRound, round int, seed uint64) []result.Trial {
	labels := labels(w.Case.Algorithm, w.Host, w.N, result.Case, w.Case.Name)
	trials := []result.Trial{{Group: result.Messages, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
		result.MetricSent: float64(r.Sent.Total()), result.MetricDelivered: float64(r.Received.Total()),
	}}}
	if r.Turnaround > 0 {
		trials = append(trials, result.Trial{Group: result.Turnaround, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
			result.MetricTurnaround: r.InT(), result.MetricElect: sample.MS(r.Turnaround), result.MetricT: sample.MS(r.T()),
		}})
	}
	return trials
}

// Trial returns r as a trial.
func (c Case) Trial(r Result, round int, seed uint64) result.Trial {
	return result.Trial{Group: result.Failover, Labels: labels(c.Algorithm, Processes, c.Nodes, result.Signal, string(c.Signal)),
		Round: round, Seed: seed, Values: map[string]float64{
			result.MetricFailover: sample.MS(r.Failover.Failover), result.MetricDetect: sample.MS(r.Detect),
			result.MetricElect: sample.MS(r.Elect), result.MetricFailoverMessages: float64(r.Total()),
		}}
}

// Trial returns s as a trial.
func (s Steady) Trial(round int, seed uint64) result.Trial {
	each := float64(s.Nodes)
	return result.Trial{Group: result.Idle, Labels: labels(s.Algorithm, OneProcess, s.Nodes), Round: round, Seed: seed, Values: map[string]float64{
		result.MetricFrames: s.Frames / each, result.MetricTraffic: s.Bytes / each,
		result.MetricProcessor: 100 * s.CPU / each, result.MetricHeap: s.Heap / each / 1024,
	}}
}

// Trial returns what a fault cost on a host as a trial.
func (c CostCase) Trial(cost Cost, host string, round int, seed uint64) result.Trial {
	return result.Trial{Group: result.Application, Labels: labels(c.Algorithm, host, c.Nodes, result.Fault, c.Fault.Name),
		Round: round, Seed: seed, Values: cost.Values()}
}

// Trial returns what was observed as a trial.
func (c DetectorCase) Trial(q Quality, round int, seed uint64) result.Trial {
	return result.Trial{Group: result.Detector, Round: round, Seed: seed, Values: q.Values(), Labels: map[string]string{
		result.Condition: c.Condition.Name, result.Adapts: strconv.FormatBool(!c.Fixed), result.Host: Simulator,
		result.Timeout: strconv.FormatFloat(sample.MS(c.Timeout), 'f', -1, 64),
	}}
}

// Trial returns how fast a part was as a trial.
func (p Part) Trial(units int, took time.Duration, round int, seed uint64) result.Trial {
	return result.Trial{Group: result.Parts, Round: round, Seed: seed, Labels: map[string]string{result.Part: p.label(), result.Unit: p.Unit},
		Values: map[string]float64{result.MetricRate: float64(units) / took.Seconds()}}
}

// labels are those that most trials have, and more of them, as names and values.
func labels(algorithm, host string, n int, more ...string) map[string]string {
	all := map[string]string{result.Algorithm: algorithm, result.Host: host, result.Nodes: strconv.Itoa(n)}
	for at := 0; at < len(more); at += 2 {
		all[more[at]] = more[at+1]
	}
	return all
}
