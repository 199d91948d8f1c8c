package web

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/share"
)

// newMetrics returns a handler that serves only the metrics of h.
func newMetrics(h *Handler) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(h)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
}

// sharedPage serves a page that is built once for all requests within 100 ms: without compression, and in the default
// format.
type sharedPage struct {
	of     http.Handler
	answer share.Answer[*buffered]
}

// buffered is an http.ResponseWriter that stores the response.
type buffered struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (p *buffered) Header() http.Header         { return p.header }
func (p *buffered) WriteHeader(code int)        { p.code = code }
func (p *buffered) Write(b []byte) (int, error) { return p.body.Write(b) }

func (s *sharedPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, err := s.answer.Get(r.Context(), func(ctx context.Context) (*buffered, error) {
		p := &buffered{header: make(http.Header), code: http.StatusOK}
		s.of.ServeHTTP(p, (&http.Request{Method: http.MethodGet, URL: r.URL, Header: make(http.Header)}).WithContext(ctx))
		return p, nil
	})
	if err != nil {
		return // the client is gone
	}
	maps.Copy(w.Header(), p.header)
	w.WriteHeader(p.code)
	_, _ = w.Write(p.body.Bytes())
}

// desc returns the description of a metric with variable labels.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("elect_"+name, help, labels, nil)
}

// The metrics that are there even if the loop of the node hangs.
var (
	isLeader    = desc("is_leader", "Whether this node leads, as far as it knows.")
	leaderKnown = desc("leader_known", "Whether this node knows of a leader.")
	epoch       = desc("epoch", "Epoch of the leadership, 0 while no leader is known.")
	changes     = desc("leader_changes_total", "Leaderships that this node has seen begin.")
	streaming   = desc("event_streams", "Clients of /events that are connected.")
	httpEnd     = desc("http_certificate_expiry_timestamp_seconds", "When the certificate of the HTTP server of this node ends, if it has one of its own, in seconds since 1970.")
	responsive  = desc("responsive", "Whether the loop of the node has replied to this scrape. If not, the metrics that need the loop are absent.")
)

// The metrics that need the loop of the node.
var (
	info      = desc("node_info", "This node: always 1.", "cluster", "algorithm", "name", "id")
	members   = desc("members", "Members by their state, as this node sees them.", "state")
	committed = desc("config_committed", "Whether a quorum is known to hold the config of this node, or no quorum is needed.")
	saves     = desc("save_duration_seconds", "Number of saves to the store, and the time that they took.")
	leaseLeft = desc("lease_left_seconds", "Time until the lease of this node expires if it is not renewed; 0 on other nodes.")
	certified = desc("certificate_expiry_timestamp_seconds", "End of the certificate of this node, or of an earlier-ending one that has signed it, in seconds since 1970.")
	connected = desc("connections", "Connections to other members.")
	watched   = desc("watchers", "Clients that watch the leadership through this node.")
	warnings  = desc("warnings", "Warnings of the last ten minutes, as the status shows them.")
)

// states has all values of cluster.Member.State, so that a state without members has a metric, too.
var states = []string{"self", "alive", "suspected", "indirect", "connected", "unknown"}

// counters maps entries of cluster.Status.Counters to metrics. A name that ends with a dot stands for all entries with
// that prefix, and the rest of the name is the value of the last label.
var counters = []struct {
	name   string
	figure *prometheus.Desc
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
	{name: "elections.", figure: desc("elections_total", "Elections that this node knows of, by cause.", "cause")},
	{name: "suspicions.", figure: desc("suspicions_total", "Suspicions of members by this node, by cause.", "cause")},
	{name: "dropped.", figure: desc("frames_dropped_total", "Frames that were not sent, by reason.", "reason")},
	{name: "closed.", figure: desc("connections_closed_total", "Connections that this node has closed for a fault of the peer, by reason.", "reason")},
	{name: "nonmembers.", figure: desc("nonmember_messages_total", "Messages of non-members, by subject: elections or heartbeats.", "about")},
	{name: "rejected", figure: desc("messages_rejected_total", "Messages for which this node closed the connection.")},
	{name: "dials", figure: desc("dials_total", "Attempts to connect to a member.")},
	{name: "dials.failed", figure: desc("dials_failed_total", "Attempts to connect to a member that have failed.")},
}

var (
	messages     = desc("messages_total", "Messages by kind; heartbeat includes all messages of detectors, and repeats.", "direction", "kind")
	messageBytes = desc("message_bytes_total", "Bytes of messages by kind, without those that the transport adds.", "direction", "kind")
	frames       = desc("frames_total", "Frames of the transport.", "direction")
	wireBytes    = desc("wire_bytes_total", "Bytes on the wire.", "direction")
)

// newFailovers returns the histogram of the durations of failovers.
func newFailovers() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "elect_failover_seconds",
		Help: "Failovers in elections that this node started: from the last sign of life of the previous leader until this node knew the next one.",
		// From a refused connection on the loopback to a WAN with doubled timeouts.
		Buckets: []float64{0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60},
	})
}

// Describe makes the handler a prometheus.Collector, which a service can register in its own registry. It describes no
// metric, because some metrics are there only while the loop of the node replies.
func (h *Handler) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics, as /metrics serves them.
func (h *Handler) Collect(to chan<- prometheus.Metric) {
	s := h.state()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(isLeader, number(s.IsLeader))
	gauge(leaderKnown, number(s.HasLeader()))
	gauge(epoch, float64(s.Leader.Epoch))
	gauge(streaming, float64(h.streams.many()))
	to <- prometheus.MustNewConstMetric(changes, prometheus.CounterValue, float64(h.history.changed()))
	h.history.failovers.Collect(to)
	if h.certificateEnd != nil {
		gauge(httpEnd, float64(h.certificateEnd().Unix()))
	}

	status, err := h.ask(context.Background())
	gauge(responsive, number(err == nil))
	if err == nil {
		h.collect(*status, gauge, to)
	}
}

// collect sends the metrics that need the loop.
func (h *Handler) collect(s cluster.Status, gauge func(*prometheus.Desc, float64, ...string), to chan<- prometheus.Metric) {
	many := make(map[string]int)
	for _, m := range s.Members {
		many[m.State]++
	}
	for _, state := range states {
		gauge(members, float64(many[state]), state)
	}
	gauge(info, 1, s.Cluster, s.Algorithm, h.node.Config().Name, s.Node.String())
	gauge(committed, number(s.Committed))
	if s.Lease != nil {
		gauge(leaseLeft, h.node.LeaseRemaining().Seconds())
	}
	if !s.CertificateEnd.IsZero() {
		gauge(certified, float64(s.CertificateEnd.Unix()))
	}
	gauge(connected, float64(s.Counters["connections"]))
	gauge(watched, float64(s.Counters["watchers"]))
	gauge(warnings, float64(len(s.Warnings)))
	to <- prometheus.MustNewConstSummary(saves, s.Counters["saves"], time.Duration(s.Counters["saves.nanoseconds"]).Seconds(), nil)
	for _, c := range counters {
		for _, key := range slices.Sorted(maps.Keys(s.Counters)) {
			labels := c.labels
			if rest, begins := strings.CutPrefix(key, c.name); begins && strings.HasSuffix(c.name, ".") {
				labels = append(slices.Clone(labels), rest)
			} else if key != c.name {
				continue
			}
			to <- prometheus.MustNewConstMetric(c.figure, prometheus.CounterValue, float64(s.Counters[key]), labels...)
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
