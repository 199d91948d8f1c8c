package bench

import (
	"strconv"

	"github.com/elect-go/elect/bench/result"
)

// Simulator is the host of elections that are simulated.
const Simulator = "simulator"

// The metrics of trials. T is the time of one message, one way.
const (
	MetricSent       = "msgs/election"
	MetricDelivered  = "delivered/election"
	MetricBytes      = "bytes/election"
	MetricTurnaround = "T/election"
	MetricElect      = "ms/elect"
	MetricT          = "T-ms"
)

// Trials returns s as trials: what it cost, and how long it took.
func (c SimulatedCase) Trials(s Simulated, round int, seed uint64) []result.Trial {
	labels := labels(c.Algorithm, c.Name, Simulator, s.Election.N)
	return []result.Trial{
		{Group: result.Messages, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
			MetricSent: float64(s.Sent), MetricDelivered: float64(s.Delivered), MetricBytes: float64(s.Bytes),
		}},
		{Group: result.Turnaround, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
			MetricTurnaround: s.Turnaround,
		}},
	}
}

// Trials returns r as trials: what it cost, and, where anybody changed its mind, how long
// it took.
func (w *Wired) Trials(r WireRound, round int, seed uint64) []result.Trial {
	labels := labels(w.Case.Algorithm, w.Case.Name, w.Host, w.N)
	trials := []result.Trial{{Group: result.Messages, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
		MetricSent: float64(r.Sent.Total()), MetricDelivered: float64(r.Received.Total()),
	}}}
	if r.Turnaround > 0 {
		trials = append(trials, result.Trial{Group: result.Turnaround, Labels: labels, Round: round, Seed: seed, Values: map[string]float64{
			MetricTurnaround: r.InT(), MetricElect: Milliseconds(r.Turnaround), MetricT: Milliseconds(r.T()),
		}})
	}
	return trials
}

func labels(algorithm, name, host string, n int) map[string]string {
	return map[string]string{result.Algorithm: algorithm, result.Case: name, result.Host: host, result.Nodes: strconv.Itoa(n)}
}
