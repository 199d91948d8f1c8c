// Package web serves the state of a node over HTTP, for load balancers, monitoring and people. A service mounts it in
// its own mux; elect node serves it at the address http: of its settings.
//
//	site := web.New(ctx, node)
//	mux.Handle("/elect/", http.StripPrefix("/elect", site))
//
// Each node answers for itself, as far as it knows:
//
//   - /leader: the leader, as JSON; with status 200 on the leader, and 503 elsewhere.
//   - /status: the status of the node, as JSON: the fields of elect status --json.
//   - /events: changes of the leadership as they happen, as server-sent events. See [Change].
//   - /livez: 200 while the node works; /readyz: 200 while it knows a leader; 503 otherwise.
//   - /metrics: metrics for Prometheus. A service with metrics of its own can append them to its page: see
//     [Handler.WriteMetrics].
//   - /: a live page for people. It loads nothing from other hosts.
//
// The node computes one status for all requests within 100 ms, so a flood of them does not delay its elections.
// /metrics is computed once in that time as well. A node with a blocked loop, for example in a save, answers within a
// second.
//
// # Security
//
// Requests are not authenticated, and cannot change anything. Serve it only where each client may know the names and
// addresses of the members, or over TLS to clients with a certificate: see tlsauth.HTTPS. A server without credentials
// on the loopback or a private network wraps it in [AllowHosts]: otherwise a website reads from it through the browser
// of a user there (DNS rebinding).
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/share"
)

// loopTimeout limits the wait for the loop of the node. A prober with a timeout of a second, such as that of
// Kubernetes, still reads the reason.
const loopTimeout = 900 * time.Millisecond

// Handler serves the state of one node. Its methods may be called from any goroutine.
type Handler struct {
	node    *cluster.Node
	history *history
	streams streams
	encoded encoded
	page    share.Answer[[]byte] // of /metrics
	mux     http.ServeMux

	certificateEnd func() time.Time // nil: no metric
}

// New returns the handler of a node. The handler follows the node until ctx ends or the node has stopped. Its events,
// and the metrics about changes of the leader, do not include what happened before New.
func New(ctx context.Context, n *cluster.Node) *Handler {
	h := &Handler{node: n, history: newHistory()}
	h.mux.HandleFunc("GET /leader", h.leader)
	h.mux.HandleFunc("GET /status", h.status)
	h.mux.HandleFunc("GET /events", h.events)
	h.mux.HandleFunc("GET /livez", h.live)
	h.mux.HandleFunc("GET /readyz", h.ready)
	h.mux.HandleFunc("GET /metrics", h.metrics)
	h.mux.HandleFunc("GET /{$}", servePage)
	go h.history.follow(ctx, n)
	return h
}

// ShowCertificateEnd adds a metric: when the certificate of the server ends that serves h, and is not that of the node.
// It must be called before the first request.
func (h *Handler) ShowCertificateEnd(end func() time.Time) { h.certificateEnd = end }

// ServeHTTP answers GET and HEAD.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	h.mux.ServeHTTP(w, r)
}

// Leader is a leader.
type Leader struct {
	ID    algo.NodeID `json:"id"`
	Name  string      `json:"name"`
	Addr  string      `json:"addr"`
	Epoch algo.Epoch  `json:"epoch"`
	// Token and Cluster are for a resource that checks fencing tokens: see package fence.
	Token   uint64      `json:"token"`
	Cluster algo.NodeID `json:"cluster"`
	// Meta is the metadata of the leader: see cluster.Config.Meta.
	Meta map[string]string `json:"meta,omitempty"`
}

// leaderOf returns the leader of a state, or nil.
func leaderOf(s cluster.State) *Leader {
	if !s.HasLeader() {
		return nil
	}
	l := s.Leader
	return &Leader{ID: l.ID, Name: l.Name, Addr: l.Addr, Epoch: l.Epoch, Token: l.Token, Cluster: l.Cluster, Meta: l.Meta()}
}

func (h *Handler) leader(w http.ResponseWriter, r *http.Request) {
	s := h.state()
	code, remaining := http.StatusServiceUnavailable, time.Duration(0)
	if s.IsLeader && !h.node.Config().Lease.IsOff() {
		remaining = h.node.LeaseRemaining()
		s = h.state() // it may have ended meanwhile
	}
	if s.IsLeader {
		code = http.StatusOK
	}
	answer(w, code, struct {
		*Leader                      // absent if no leader is known
		Leads          bool          `json:"leads"`                       // the node that replies is the leader
		LeaseRemaining time.Duration `json:"lease_remaining_ns,omitzero"` // absent except on the leader
	}{leaderOf(s), s.IsLeader, remaining})
}

// state returns the current state of the leadership, as the node knows it.
func (h *Handler) state() cluster.State {
	for s := range h.node.Watch(context.Background()) {
		return s
	}
	panic("web: a node that shows no state")
}

func (h *Handler) status(w http.ResponseWriter, r *http.Request) {
	s, err := h.queryStatus(r.Context())
	if err != nil {
		answer(w, http.StatusServiceUnavailable, map[string]string{"reason": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, h.encoded.text(s))
}

// encoded is the latest status as JSON. It is encoded once for all requests that receive the same status.
type encoded struct {
	mu     sync.Mutex
	source *cluster.Status
	json   []byte
}

func (e *encoded) text(s *cluster.Status) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.source != s {
		e.source, e.json = s, encode(s)
	}
	return e.json
}

// queryStatus returns a status of the node that is at most 100 ms old.
func (h *Handler) queryStatus(ctx context.Context) (*cluster.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loopTimeout, errNoAnswer)
	defer cancel()
	return h.node.RecentStatus(ctx)
}

func (h *Handler) live(w http.ResponseWriter, r *http.Request) {
	_, err := h.queryStatus(r.Context())
	writeHealth(w, err)
}

func (h *Handler) ready(w http.ResponseWriter, _ *http.Request) {
	if h.state().HasLeader() {
		writeHealth(w, nil)
	} else {
		writeHealth(w, errNoLeader)
	}
}

// writeHealth replies to a prober: "ok", or the reason why the node is not.
func writeHealth(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(err.Error() + "\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// answer writes what as JSON.
func answer(w http.ResponseWriter, code int, what any) { writeJSON(w, code, encode(what)) }

func encode(what any) []byte {
	var text bytes.Buffer
	_ = json.NewEncoder(&text).Encode(what)
	return text.Bytes()
}

// writeJSON writes a reply. It ignores errors: they mean that the client has disconnected.
func writeJSON(w http.ResponseWriter, code int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}
