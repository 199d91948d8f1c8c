package sim

import (
	"testing"
	"time"

	"github.com/elect-go/elect/trace"
)

// TestPerfectDetectorTrustsBeforeMessageArrives: a perfect detector trusts a restarted node before its first message
// arrives. With a late detector, 24 nodes of bully sent 3,000 messages and 64 nodes 38,000, instead of about one each.
func TestPerfectDetectorTrustsBeforeMessageArrives(t *testing.T) {
	const nodes = 24
	// The node restarts before its crash is known, and after.
	for _, down := range []time.Duration{time.Millisecond, time.Second} {
		for seed := range uint64(20) {
			var w *World
			hear := func(e trace.Event) {
				if e.Kind == trace.Suspect && e.Peer == ID(nodes) && w.nodes[nodes-1].up && e.Text() != "it was restarted" {
					t.Errorf("seed %d: at %v %s suspects n%d, which runs: %s", seed, e.At, Name(e.Node), nodes, e.Text())
				}
			}
			w = New(Config{Spec: lan(t, "bully"), Detector: Perfect, Delay: Uniform(2*time.Millisecond, 20*time.Millisecond), Seed: seed, Trace: hear})
			for _, step := range []func() error{
				func() error { return w.Cluster(nodes) },
				func() error { w.Run(time.Second); return w.Crash(nodes) },
				func() error { w.Run(down); return w.Restart(nodes) },
			} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			w.ResetCounts()
			w.Await(2 * time.Second)
			if v := w.Violations(); len(v) > 0 {
				t.Fatalf("seed %d: %v", seed, v)
			}
			var sent uint64
			for _, count := range w.Counts().Sent {
				sent += count
			}
			if sent > 5*nodes {
				t.Errorf("seed %d, down for %v: %d messages, want no more than a few for each node", seed, down, sent)
			}
		}
	}
}
