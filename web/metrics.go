package web

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/cluster"
)

// metrics serves a page that is built once for all requests within 100 ms.
func (h *Handler) metrics(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = h.WriteMetrics(r.Context(), w) // it fails if the client is gone
}

// WriteMetrics writes what /metrics serves, in the text format of Prometheus. A service with metrics of its own can
// append it to its page: all names begin with elect_. It waits at most a second for the node. The error is that of w,
// or context.Cause(ctx) if ctx ends first.
func (h *Handler) WriteMetrics(ctx context.Context, w io.Writer) error {
	text, err := h.page.Get(ctx, func(ctx context.Context) ([]byte, error) { return h.exposition(ctx), nil })
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// The metrics that are there even if the loop of the node hangs.
var (
	isLeader       = gauge("is_leader", "Whether this node leads, as far as it knows.")
	leaderKnown    = gauge("leader_known", "Whether this node knows of a leader.")
	epoch          = gauge("epoch", "Epoch of the leadership, 0 while no leader is known.")
	changes        = counter("leader_changes_total", "Leaderships that this node has seen begin.")
	streaming      = gauge("event_streams", "Clients of /events that are connected.")
	httpEnd        = gauge("http_certificate_expiry_timestamp_seconds", "When the certificate of the HTTP server of this node ends, if it has one of its own, in seconds since 1970.")
	loopResponsive = gauge("loop_responsive", "Whether the loop of the node has replied to this scrape. If not, the metrics that need the loop are absent.")
)

// The metrics that need the loop of the node.
var (
	info           = gauge("node_info", "This node: always 1.", "cluster", "algorithm", "name", "id")
	members        = gauge("members", "Members by their state, as this node sees them.", "state")
	committed      = gauge("config_committed", "Whether a quorum is known to hold the config of this node, or no quorum is needed.")
	saves          = summary("save_duration_seconds", "Number of saves to the store, and the time that they took.")
	leaseRemaining = gauge("lease_remaining_seconds", "Time until the lease of this node expires if it is not renewed; 0 on other nodes.")
	certified      = gauge("certificate_expiry_timestamp_seconds", "End of the certificate of this node, or of an earlier-ending one that has signed it, in seconds since 1970.")
	connected      = gauge("connections", "Connections to other members.")
	watched        = gauge("watchers", "Clients that watch the leadership through this node.")
	warnings       = gauge("warnings", "Warnings of the last ten minutes, as the status shows them.")
)

// states has all values of cluster.Member.State, so that a state without members has a metric, too.
var states = []string{"self", "alive", "suspected", "indirect", "connected", "unknown"}

// counters maps entries of cluster.Status.Counters to metrics. A name that ends with a dot stands for all entries with
// that prefix, and the rest of the name is the value of the last label.
var counters = []struct {
	name   string
	figure *metric
	labels []string // values of the other labels
}{
	{name: "sent.", figure: messages, labels: []string{"sent"}},
	{name: "received.", figure: messages, labels: []string{"received"}},
	{name: "bytes.sent.", figure: messageBytes, labels: []string{"sent"}},
	{name: "bytes.received.", figure: messageBytes, labels: []string{"received"}},
	{name: "frames.out", figure: frames, labels: []string{"sent"}},
	{name: "frames.in", figure: frames, labels: []string{"received"}},
	{name: "bytes.out", figure: wireBytes, labels: []string{"sent"}},
	{name: "bytes.in", figure: wireBytes, labels: []string{"received"}},
	{name: "elections.", figure: counter("elections_total", "Elections that this node knows of, by cause.", "cause")},
	{name: "suspicions.", figure: counter("suspicions_total", "Suspicions of members by this node, by cause.", "cause")},
	{name: "dropped.", figure: counter("frames_dropped_total", "Frames that were not sent, by reason.", "reason")},
	{name: "closed.", figure: counter("connections_closed_total", "Connections that this node has closed for a fault of the peer, by reason.", "reason")},
	{name: "nonmembers.", figure: counter("nonmember_messages_total", "Messages of non-members, by subject: elections or heartbeats.", "about")},
	{name: "rejected", figure: counter("messages_rejected_total", "Messages for which this node closed the connection.")},
	{name: "dials", figure: counter("dials_total", "Attempts to connect to a member.")},
	{name: "dials.failed", figure: counter("dial_failures_total", "Attempts to connect to a member that have failed.")},
}

var (
	messages     = counter("messages_total", "Messages by kind; heartbeat includes all messages of detectors, and repeats.", "direction", "kind")
	messageBytes = counter("message_bytes_total", "Bytes of messages by kind, without those that the transport adds.", "direction", "kind")
	frames       = counter("frames_total", "Frames of the transport.", "direction")
	wireBytes    = counter("wire_bytes_total", "Bytes on the wire.", "direction")
)

// failovers is a histogram, from a refused connection on the loopback to a WAN with doubled timeouts.
var failovers = &metric{
	name: "failover_seconds", kind: "histogram",
	help:    "Failovers in elections that this node started: from the last sign of life of the previous leader until this node knew the next one.",
	buckets: []float64{0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60},
}

// exposition returns the page of /metrics.
func (h *Handler) exposition(ctx context.Context) []byte {
	var e exposition
	s := h.state()
	e.add(isLeader, number(s.IsLeader))
	e.add(leaderKnown, number(s.HasLeader()))
	e.add(epoch, float64(s.Leader.Epoch))
	e.add(streaming, float64(h.streams.count()))
	begun, took := h.history.counts()
	e.add(changes, float64(begun))
	e.addHistogram(failovers, took)
	if h.certificateEnd != nil {
		e.add(httpEnd, float64(h.certificateEnd().Unix()))
	}

	status, err := h.queryStatus(ctx)
	e.add(loopResponsive, number(err == nil))
	if err == nil {
		h.addStatus(&e, *status)
	}
	return e.text.Bytes()
}

// addStatus adds the metrics that need the loop.
func (h *Handler) addStatus(e *exposition, s cluster.Status) {
	counts := make(map[string]int)
	for _, m := range s.Members {
		counts[m.State]++
	}
	for _, state := range states {
		e.add(members, float64(counts[state]), state)
	}
	e.add(info, 1, s.Cluster, s.Algorithm, h.node.Config().Name, s.Node.String())
	e.add(committed, number(s.Committed))
	if s.Lease != nil {
		e.add(leaseRemaining, h.node.LeaseRemaining().Seconds())
	}
	if !s.CertificateEnd.IsZero() {
		e.add(certified, float64(s.CertificateEnd.Unix()))
	}
	e.add(connected, float64(s.Counters["connections"]))
	e.add(watched, float64(s.Counters["watchers"]))
	e.add(warnings, float64(len(s.Warnings)))
	e.addSummary(saves, s.Counters["saves"], time.Duration(s.Counters["saves.nanoseconds"]).Seconds())
	for _, c := range counters {
		for _, key := range slices.Sorted(maps.Keys(s.Counters)) {
			labels := c.labels
			if rest, begins := strings.CutPrefix(key, c.name); begins && strings.HasSuffix(c.name, ".") {
				labels = append(slices.Clone(labels), rest)
			} else if key != c.name {
				continue
			}
			e.add(c.figure, float64(s.Counters[key]), labels...)
		}
	}
}

// number returns 1 for true, and 0 for false.
func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
