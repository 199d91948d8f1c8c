package trace_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

func TestShiVizHasClocks(t *testing.T) {
	require.Equal(t, `is down
n3 {"n3":1}
suspects n3: it crashed, sends election to n2, sends election to n3
n1 {"n1":1}
receives election from n1, sends answer to n1, sends election to n3
n2 {"n1":1, "n2":1}
suspects n3: it crashed
n2 {"n1":1, "n2":2}
loses election from n1, not running
n3 {"n3":2}
receives answer from n2
n1 {"n1":2, "n2":1}
loses election from n2, not running
n3 {"n3":3}
timer answer ends, leads in epoch 4, sends coordinator e4 to n1
n2 {"n1":1, "n2":3}
receives coordinator e4 from n2, follows n2 in epoch 4
n1 {"n1":3, "n2":3}
`, crash(t).ShiViz())
}

// A message that arrives twice has one cause. Of a message that was sent before the drawing begins, nothing is known.
func TestShiVizConnectsCopies(t *testing.T) {
	d := trace.Diagram{From: time.Millisecond}
	event := func(at time.Duration, e trace.Event) {
		e.At, e.Message = at*time.Millisecond, bully.Election{Epoch: 7}
		d.Event(e)
	}
	d.Names = names
	event(0, trace.Event{Node: n3, Kind: trace.Send, Peer: n1})
	event(1, trace.Event{Node: n1, Kind: trace.Send, Peer: n2})
	event(2, trace.Event{Node: n2, Kind: trace.Deliver, Peer: n1})
	event(3, trace.Event{Node: n2, Kind: trace.Deliver, Peer: n1})
	event(4, trace.Event{Node: n1, Kind: trace.Deliver, Peer: n3})
	require.Equal(t, `sends election e7 to n2
n1 {"n1":1}
receives election e7 from n1
n2 {"n1":1, "n2":1}
receives election e7 from n1
n2 {"n1":1, "n2":2}
receives election e7 from n3
n1 {"n1":2}
`, d.ShiViz())
}

// The clocks of chaos runs are those that ShiViz accepts: that of a node grows by one with each of its events, and no
// event comes from one that is not in the log before it.
func TestShiVizLogIsValid(t *testing.T) {
	line := regexp.MustCompile(`(.+)\n(\S*) ({.*})\n`) // as the default of ShiViz
	for seed := range uint64(10) {
		for _, all := range []bool{false, true} {
			spec := spec(t, "bully", nil)
			d := trace.Diagram{Names: names, Messages: spec.Messages, From: time.Second, All: all}
			_, err := sim.Chaos(t.Context(), sim.ChaosOptions{Spec: spec, Nodes: 5, Seed: seed, Period: 3 * time.Second, Trace: d.Event})
			require.NoError(t, err)
			log := d.ShiViz()
			events, merged, last := 0, 0, make(map[string]map[string]int)
			rest := line.ReplaceAllStringFunc(log, func(entry string) string {
				parts := line.FindStringSubmatch(entry)
				clock := make(map[string]int)
				require.NoError(t, json.Unmarshal([]byte(parts[3]), &clock))
				require.Equal(t, last[parts[2]][parts[2]]+1, clock[parts[2]], entry)
				for name, count := range clock {
					require.GreaterOrEqual(t, count, last[parts[2]][name], entry)
					if name != parts[2] {
						require.LessOrEqual(t, count, last[name][name], entry)
						if count > last[parts[2]][name] {
							merged++
						}
					}
				}
				last[parts[2]] = clock
				events++
				return ""
			})
			require.Empty(t, rest)
			require.Greater(t, events, 50)
			require.Greater(t, merged, 15)
		}
	}
}
