package cluster

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/buildinfo"
	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/trace"
	"github.com/elect-go/elect/transport"
)

const (
	// debugPause follows each reply. A node serves one debug request at a time, so any number of clients together cost
	// it at most one reply in that time.
	debugPause = 10 * time.Millisecond
	// debugEvents is the number of events in a reply, and debugFrame the size in bytes from which on none is added.
	debugEvents, debugFrame = 256, 56 << 10
	maxDebugValue           = 2 << 10 // limit of wire.DebugFact
)

// replyDebug replies with a part of what a bug report needs. It runs beside the loop and does not wait for it, so it
// also works while the loop hangs.
func (n *Node) replyDebug(p transport.Peer, request wire.DebugRequest) {
	select {
	case n.debugTurn <- struct{}{}:
	case <-n.loopCtx.Done():
		return
	}
	defer func() { <-n.debugTurn }()
	n.reply(p, n.debugReply(request.After, time.Now()))
	select {
	case <-time.After(debugPause):
	case <-n.loopCtx.Done():
	}
}

func (n *Node) debugReply(after uint64, now time.Time) wire.DebugReply {
	events, first, count := n.events.after(after, debugEvents)
	r := wire.DebugReply{Recorded: count}
	uptime := n.now()
	if after == 0 {
		r.About, r.Settings = n.debugAbout(now, uptime), n.debugSettings()
	}
	zero := now.Add(-uptime)
	if lost := first - 1 - after; after > 0 && len(events) > 0 && lost > 0 {
		gap := trace.Event{At: events[0].At, Node: events[0].Node, Kind: trace.Lost, Format: "%d events", Args: []any{lost}}
		r.Events = append(r.Events, wire.DebugEvent{JSON: eventJSON(gap, zero)})
	}
	size, last := len(n.frameOf(r)), first-1
	for _, e := range events {
		line := eventJSON(e, zero)
		if size += len(line) + 4; size > debugFrame {
			break
		}
		r.Events = append(r.Events, wire.DebugEvent{JSON: line})
		last++
	}
	if last < count {
		r.Next = last
	}
	return r
}

// facts collects names and values. It cuts off what is too long.
type facts []wire.DebugFact

func (f *facts) add(name string, value any) {
	text := untrusted.Printable(fmt.Sprint(value))
	if len(text) > maxDebugValue {
		const end = "… (cut off)"
		text = untrusted.Truncate(text, maxDebugValue-len(end)) + end
	}
	*f = append(*f, wire.DebugFact{Name: untrusted.Truncate(name, wire.MaxDebugName), Value: text})
}

// debugAbout describes this process.
func (n *Node) debugAbout(now time.Time, uptime time.Duration) []wire.DebugFact {
	var f facts
	hello, build := n.hello.Load(), buildinfo.Read()
	f.add("name", hello.Name)
	f.add("id", hello.ID)
	f.add("cluster_id", hello.ClusterID)
	f.add("incarnation", hello.Incarnation>>32)
	f.add("time", now.UTC().Format(time.RFC3339Nano))
	f.add("started", n.startTime.UTC().Format(time.RFC3339Nano))
	f.add("uptime", uptime.Round(time.Millisecond))
	f.add("version", build.Version)
	f.add("revision", build.Revision)
	f.add("modified", build.Modified)
	f.add("go", build.Go)
	f.add("platform", build.Platform)
	f.add("protocol", build.Protocol)
	f.add("data_format", build.Format)
	f.add("cpus", runtime.NumCPU())
	f.add("gomaxprocs", runtime.GOMAXPROCS(0))
	f.add("goroutines", runtime.NumGoroutine())
	return f
}

// debugSettings returns the settings in effect, by their names in a configuration file. It names each field, so that
// the content of a secret cannot be among them: the Config has only the paths of files.
func (n *Node) debugSettings() []wire.DebugFact {
	var f facts
	c, hello := &n.config, n.hello.Load()
	algorithm := strings.TrimSuffix(n.spec.Name, lease.Suffix)
	f.add("cluster", c.Cluster)
	f.add("name", c.Name)
	f.add("listen", c.Listen)
	f.add("advertise", hello.Addr)
	f.add("bootstrap", c.Bootstrap)
	f.add("join", "["+strings.Join(c.Join, ", ")+"]")
	f.add("members", hello.Members)
	f.add("data_dir", c.DataDir)
	f.add("algorithm", algorithm)
	f.add("allow_textbook", c.AllowTextbook)
	f.add("priority", n.priority.Load())
	f.add("witness", c.Witness)
	f.add("remove_suspected_after", c.RemoveSuspectedAfter)
	f.add("no_admin", c.NoAdmin)
	f.add("secret_file", c.SecretFile)
	f.add("tls.cert", c.TLS.Cert)
	f.add("tls.key", c.TLS.Key)
	f.add("tls.ca", c.TLS.CA)
	f.add("security", c.Security)
	f.add("keep_connections", c.KeepConnections)
	f.add("insecure", c.Insecure)
	f.add("drain_timeout", c.DrainTimeout)
	meta := decodeMeta(hello.Meta)
	pairs := make([]string, 0, len(meta))
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		pairs = append(pairs, key+"="+strconv.Quote(meta[key]))
	}
	f.add("meta", "["+strings.Join(pairs, ", ")+"]")
	f.add("lease", map[bool]string{true: "off", false: "on"}[c.Lease.IsOff()])
	t := c.Timing
	f.add("timing.heartbeat", t.Heartbeat)
	f.add("timing.timeout", t.Timeout)
	f.add("timing.max_timeout", t.MaxTimeout)
	f.add("timing.timeout_decay", t.TimeoutDecay)
	f.add("timing.round_trip", t.RoundTrip)
	f.add("timing.min_redial", t.MinRedial)
	f.add("timing.max_redial", t.MaxRedial)
	f.add("timing.startup_wait", t.StartupWait)
	f.add("timing.timeout_only", t.TimeoutOnly)
	for _, s := range n.spec.Settings {
		if name, isLease := strings.CutPrefix(s.Name, "lease_"); isLease {
			f.add("lease."+name, s.Value)
		} else {
			f.add(algorithm+"."+s.Name, s.Value)
		}
	}
	return f[:min(len(f), wire.MaxDebugFacts)]
}
