package fd

import (
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

// A suspicion for silence counts as false even if the peer is no longer monitored. Otherwise a node that suspects its
// leader and follows another would never raise the timeout of the first.
func TestFalseSuspicionCountsAfterMonitoringEnds(t *testing.T) {
	const cut, grown = timeout + 100*ms, timeout + timeout/2
	for _, test := range []struct {
		name string
		then func(d *Detector)
		want time.Duration
	}{
		{"it is heard of and not watched", func(d *Detector) { d.HandleFrame(cut, n(1)) }, grown},
		{"it is heard of once more", func(d *Detector) { d.HandleFrame(cut, n(1)); d.HandleFrame(cut, n(1)) }, grown},
		{"it says hello", func(d *Detector) { d.Up(cut, n(1), 7) }, grown},
		{"it is monitored again and heard of", func(d *Detector) { d.Monitor(cut, []algo.NodeID{n(1)}); d.HandleFrame(cut, n(1)) }, grown},
		{"it is another process", func(d *Detector) { d.Up(cut, n(1), 8); d.HandleFrame(cut, n(1)) }, timeout},
		{"it is dead", func(d *Detector) { d.HandleDialFailure(cut, n(1), DialRefused); d.Up(cut, n(1), 7) }, timeout},
		{"no timeout would have borne it", func(d *Detector) { d.HandleFrame(config().MaxTimeout, n(1)) }, timeout},
		{"nor one after it was monitored again", func(d *Detector) {
			d.Monitor(config().MaxTimeout-ms, []algo.NodeID{n(1)})
			d.HandleFrame(config().MaxTimeout, n(1))
		}, timeout},
		{"nor one that was suspected again", func(d *Detector) {
			d.Monitor(config().MaxTimeout-timeout-ms, []algo.NodeID{n(1)})
			expectChanges(t, "silence once more", runUntil(d, config().MaxTimeout-ms), true)
			d.HandleFrame(config().MaxTimeout, n(1))
		}, timeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newMonitor(t)
			expectChanges(t, "silence", runUntil(d, timeout), true)
			d.Monitor(timeout, nil)
			d.Down(timeout, n(1), true)
			d.TakeOutput()
			test.then(d)
			if got := d.peers[n(1)].timeout; got != test.want {
				t.Errorf("the timeout is %v, want %v", got, test.want)
			}
		})
	}
}

// A follower may stop monitoring a silent leader because another peer has suspected it first. If the leader is then
// heard from, its timeout grows too. Otherwise a leader with a flapping link would be lost once for each follower.
func TestSilenceBeforeMonitoringEndsCounts(t *testing.T) {
	for _, test := range []struct {
		name                string
		ceases, heard, want time.Duration
	}{
		{name: "it is silent, and heard of too late", ceases: 2*interval + ms, heard: timeout, want: timeout + timeout/2},
		{name: "it is silent, and heard of in time", ceases: 2*interval + ms, heard: timeout - ms, want: timeout},
		{name: "it is not silent", ceases: 2 * interval, heard: timeout + ms, want: timeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newMonitor(t)
			d.Monitor(test.ceases, nil)
			d.HandleFrame(test.heard, n(1))
			if got := d.peers[n(1)].timeout; got != test.want {
				t.Errorf("the timeout is %v, want %v", got, test.want)
			}
		})
	}
}
