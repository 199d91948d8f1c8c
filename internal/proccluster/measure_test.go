package proccluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// idOf returns the ID of a node.
func idOf(name string) string { return algo.NodeID{15: byte(Number(name))}.String() }

func up(name string, epoch uint64, leader string, since int64) State {
	return State{Name: name, ProcState: Up, ID: idOf(name), Leader: leader, LeaderID: idOf(leader), Epoch: epoch, IsLeader: name == leader, AnnouncedAt: since}
}

func TestAgreement(t *testing.T) {
	down := up("n3", 1, "n3", 5)
	down.ProcState = Down
	paused := down
	paused.ProcState = Paused
	vacant := State{Name: "n1", ProcState: Up, ID: idOf("n1")}
	for _, tc := range []struct {
		name   string
		states []State
		want   string // the leader; empty for no agreement
	}{
		{"no nodes", nil, ""},
		{"all agree", []State{up("n1", 4, "n2", 1), up("n2", 4, "n2", 2)}, "n2"},
		{"a node without a leader", []State{vacant, up("n2", 4, "n2", 2)}, ""},
		{"another epoch", []State{up("n1", 3, "n2", 1), up("n2", 4, "n2", 2)}, ""},
		{"two leaders", []State{up("n1", 4, "n1", 1), up("n2", 4, "n2", 2)}, ""},
		{"the leader is down", []State{up("n1", 1, "n3", 1), up("n2", 1, "n3", 1), down}, ""},
		{"the leader is paused", []State{up("n1", 1, "n3", 1), up("n2", 1, "n3", 1), paused}, ""},
		{"a node that is down does not count", []State{up("n1", 2, "n2", 1), up("n2", 2, "n2", 1), down}, "n2"},
		{"the leader does not know", []State{up("n1", 2, "n2", 1), up("n2", 2, "n1", 1)}, ""},
	} {
		leader, ok := Agreement(tc.states)
		if ok != (tc.want != "") || leader.Name != tc.want {
			t.Errorf("%s: Agreement is %q, %v, want %q", tc.name, leader.Name, ok, tc.want)
		}
	}
}

const µs = int64(time.Microsecond)

// at returns the time of an event.
func at(µs int) time.Duration { return time.Duration(µs) * time.Microsecond }

func sends(node string, µs int, kind string) nodeEvent {
	return nodeEvent{node, trace.Event{At: at(µs), Kind: trace.Send, Message: trace.ReadMessage{Name: kind}}}
}

// aFailover returns a failover of four nodes: n4 leads and is killed at 1000 µs, n1 is down all the time.
func aFailover() (*LeaderLoss, []State, State, []nodeEvent) {
	leader := up("n3", 8, "n3", 3000*µs)
	states := []State{
		{Name: "n1", ProcState: Down, ID: idOf("n1"), AnnouncedAt: 9000 * µs},
		up("n2", 8, "n3", 4500*µs),
		leader,
		{Name: "n4", ProcState: Down, ID: idOf("n4"), AnnouncedAt: 9000 * µs},
	}
	fault := &LeaderLoss{At: 1000 * µs, Leader: up("n4", 7, "n4", 0), Signal: Kill}
	n3, n4 := algo.NodeID{15: 3}, algo.NodeID{15: 4}
	follows := algo.Leader{Epoch: 8, ID: n3}
	log := []nodeEvent{
		sends("n2", 900, "answer"),       // before the fault
		sends("n4", 1001, "coordinator"), // not a survivor
		{"n2", trace.Event{At: at(1500), Kind: trace.Suspect, Peer: algo.NodeID{15: 1}}}, // of another peer
		{"n2", trace.Event{At: at(2200), Kind: trace.Suspect, Peer: n4}},                 // the second suspicion of n4
		sends("n2", 2300, "election"),
		{"n3", trace.Event{At: at(2000), Kind: trace.Suspect, Peer: n4}}, // the first suspicion of n4
		{"n3", trace.Event{At: at(2200), Kind: trace.Save}},
		{"n3", trace.Event{At: at(2900), Kind: trace.Saved}}, // before it leads
		{"n3", trace.Event{At: at(3000), Kind: trace.Announce, Leader: follows}},
		sends("n3", 3001, "coordinator"),
		{"n3", trace.Event{At: at(3499), Kind: trace.Save}},
		{"n3", trace.Event{At: at(3500), Kind: trace.Saved}}, // the failover does not wait for it
		{"n2", trace.Event{At: at(3800), Kind: trace.Save}},
		{"n2", trace.Event{At: at(4400), Kind: trace.Saved}},                     // before it follows
		{"n2", trace.Event{At: at(4500), Kind: trace.Announce, Leader: follows}}, // the last
		sends("n3", 4600, "answer"),                                              // still of this election
		{"n2", trace.Event{At: at(4900), Kind: trace.Save}},
		{"n2", trace.Event{At: at(5000), Kind: trace.Saved}}, // after the failover
	}
	return fault, states, leader, log
}

func TestFailoverIsMeasuredByTimestampsOfSurvivors(t *testing.T) {
	fault, states, leader, log := aFailover()
	require.Equal(t, Failover{
		Signal: Kill, Nodes: 4, Survivors: 2, OldLeader: "n4", NewLeader: "n3", EpochBefore: 7, EpochAfter: 8,
		Failover: 3500 * time.Microsecond, Detect: 1000 * time.Microsecond, Elect: 2500 * time.Microsecond,
		Messages:      map[string]int{"election": 1, "coordinator": 1, "answer": 1},
		Saves:         []time.Duration{700 * time.Microsecond, time.Microsecond, 600 * time.Microsecond},
		CriticalSaves: 2, Saving: 1300 * time.Microsecond,
	}, newFailover(fault, states, leader, log))
}

func TestFirstMessageEndsDetectionWithoutSuspicion(t *testing.T) {
	fault, states, leader, log := aFailover()
	var rest []nodeEvent
	for _, e := range log {
		if e.Kind != trace.Suspect {
			rest = append(rest, e)
		}
	}
	require.Equal(t, 1300*time.Microsecond, newFailover(fault, states, leader, rest).Detect)
	require.Zero(t, newFailover(fault, states, leader, nil).Detect)
}

func TestRecoveryIsMeasuredFromReadyEvent(t *testing.T) {
	states := []State{up("n1", 9, "n2", 5000*µs), up("n2", 9, "n2", 4000*µs), {Name: "n3", ProcState: Down, AnnouncedAt: 9000 * µs}}
	log := []nodeEvent{
		sends("n1", 2000, "answer"),
		{"n2", trace.Event{At: at(3000), Kind: trace.Ready}},
		sends("n2", 3500, "coordinator"),
	}
	want := Recovery{Node: "n2", Leader: "n2", EpochAfter: 9, Duration: 2 * time.Millisecond, Messages: map[string]int{"answer": 1, "coordinator": 1}}
	require.Equal(t, want, newRecovery("n2", 0, states, states[1], log))
	want.Duration = 4 * time.Millisecond
	require.Equal(t, want, newRecovery("n2", 1000*µs, states, states[1], log), "from the signal that woke it")
	want.Duration = 0
	require.Equal(t, want, newRecovery("n2", 6000*µs, states, states[1], log), "all nodes knew the leader before")
}

// A killed process is awaited without a limit: on a busy machine, the kernel may take long to end it.
func TestKilledProcessIsAwaitedWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{wanted: true, killed: true, done: make(chan struct{})}
		n := &node{cluster: &Cluster{}, name: "n1", process: p}
		began := time.Now()
		time.AfterFunc(time.Minute, func() { close(p.done) })
		require.NoError(t, n.waitEnd())
		require.Equal(t, time.Minute, time.Since(began))
	})
}
