package member

import (
	"fmt"
	"io"
	"log"
	"time"

	"go.etcd.io/raft/v3"
)

var (
	etcdRaft       = etcdLibrary("etcd-raft", false)
	etcdRaftAsEtcd = etcdLibrary("etcd-raft-prevote", true)
)

func etcdLibrary(name string, asEtcd bool) Library {
	return Library{
		Name:     name,
		Leads:    true,
		Modules:  []string{"go.etcd.io/raft/v3", "go.etcd.io/etcd/server/v3"},
		Settings: func(t Timing) []string { return describeEtcd(newEtcdConfig(t, asEtcd)) },
		Beat: func(t Timing) time.Duration {
			c := newEtcdConfig(t, asEtcd)
			return time.Duration(c.HeartbeatTick) * c.tick
		},
		start: func(m *member, t Timing) error { return startEtcd(m, newEtcdConfig(t, asEtcd)) },
	}
}

// etcdConfig contains the settings that the caller of the library chooses.
type etcdConfig struct {
	raft.Config
	tick time.Duration
}

// newEtcdConfig makes a follower wait at least t.Timeout: the library draws each wait between
// ElectionTick and nearly twice that. With asEtcd it sets the checks of etcd's server.
func newEtcdConfig(t Timing, asEtcd bool) etcdConfig {
	c := etcdConfig{
		Config: raft.Config{
			ElectionTick: 10, HeartbeatTick: 1, MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
			CheckQuorum: asEtcd, PreVote: asEtcd,
			Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)},
		},
		tick: 100 * time.Millisecond,
	}
	if t != (Timing{}) {
		c.tick = divisor(t.Heartbeat, t.Timeout)
		c.HeartbeatTick, c.ElectionTick = int(t.Heartbeat/c.tick), int(t.Timeout/c.tick)
	}
	return c
}

// divisor returns the longest duration that divides both.
func divisor(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func describeEtcd(c etcdConfig) []string {
	ticks := func(n int) time.Duration { return time.Duration(n) * c.tick }
	return []string{
		fmt.Sprintf("tick %v, HeartbeatTick %d, ElectionTick %d: a leader sends every %v, a follower waits %v to %v",
			c.tick, c.HeartbeatTick, c.ElectionTick, ticks(c.HeartbeatTick), ticks(c.ElectionTick), ticks(2*c.ElectionTick-1)),
		fmt.Sprintf("PreVote %s, CheckQuorum %s; etcd's write-ahead log, synced; etcd's rafthttp over TCP", onOff(c.PreVote), onOff(c.CheckQuorum)),
	}
}
