package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/web"
)

// Only the leader answers /leader with status 200, so a load balancer can find it.
func TestLeader(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		leads := c.WaitLeader()
		for name := range c.sites {
			w, code := c.get(t, name, "/leader"), http.StatusServiceUnavailable
			if name == leads.Name {
				code = http.StatusOK
			}
			assert.Equal(t, code, w.Code, name)
			answer := asked[struct {
				web.Leader
				Leads bool
			}](t, w)
			assert.Equal(t, name == leads.Name, answer.Leads)
			assert.Equal(t, web.Leader{ID: leads.ID, Name: leads.Name, Addr: leads.Addr, Epoch: leads.Epoch, Token: leads.Token, Cluster: leads.Cluster}, answer.Leader)
		}
	})
}

// Every node serves the metadata of the leader. Only the leader serves the remaining time of its lease.
func TestMetaAndLease(t *testing.T) {
	leased := func(c *cluster.Config) {
		c.DataDir = t.TempDir()
		c.Meta = map[string]string{"http": c.Name + ":80"}
	}
	inBubble(t, clustertest.Config{Configure: leased}, func(t *testing.T, c *watched) {
		leads := c.WaitLeader()
		c.Advance(time.Minute)
		for name := range c.sites {
			answer := asked[struct {
				web.Leader
				LeaseRemaining time.Duration `json:"lease_remaining_ns"`
			}](t, c.get(t, name, "/leader"))
			assert.Equal(t, map[string]string{"http": leads.Name + ":80"}, answer.Meta)
			assert.Equal(t, name == leads.Name, answer.LeaseRemaining > 0)
			assert.Equal(t, name == leads.Name, c.scrape(t, name).value("lease_remaining_seconds") > 0)
		}
		c.Partition([]string{leads.Name})
		c.Advance(time.Minute)
		w := c.get(t, leads.Name, "/leader")
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.NotContains(t, w.Body.String(), "lease_remaining")
		assert.Zero(t, c.scrape(t, leads.Name).value("lease_remaining_seconds"))
	})
}

// With vote, a leader that is disconnected from the quorum resigns and serves no leader.
func TestIsolatedLeaderServesNoLeader(t *testing.T) {
	vote := func(c *cluster.Config) { c.Algorithm = builtin.Lookup("vote") }
	inBubble(t, clustertest.Config{Configure: vote}, func(t *testing.T, c *watched) {
		old := c.WaitLeader()
		assert.Equal(t, http.StatusOK, c.get(t, old.Name, "/readyz").Code)
		c.Partition([]string{old.Name})
		c.Advance(time.Minute)
		w := c.get(t, old.Name, "/leader")
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.JSONEq(t, `{"leads":false}`, w.Body.String())
		ready := c.get(t, old.Name, "/readyz")
		assert.Equal(t, http.StatusServiceUnavailable, ready.Code)
		assert.Equal(t, "no leader is known\n", ready.Body.String())
		assert.Equal(t, http.StatusOK, c.get(t, old.Name, "/livez").Code, "it does its work")
		assert.Equal(t, http.StatusOK, c.get(t, c.other(old.Name).Config().Name, "/readyz").Code)
	})
}

// /status has the fields of elect status --json.
func TestStatus(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		w := c.get(t, "n1", "/status")
		require.Equal(t, http.StatusOK, w.Code)
		got := asked[map[string]any](t, w)
		status, err := c.Node("n1").Status(t.Context())
		require.NoError(t, err)
		text, err := json.Marshal(status)
		require.NoError(t, err)
		var want map[string]any
		require.NoError(t, json.Unmarshal(text, &want))
		assert.Equal(t, want["members"], got["members"])
		for name := range want {
			assert.Contains(t, got, name)
		}
	})
}

// A node with a blocked loop reports an error before the timeout of a prober.
func TestBlockedNodeReportsError(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		c.Pause("n1")
		defer c.Resume("n1")
		for _, path := range []string{"/livez", "/status"} {
			begin := time.Now()
			w := c.get(t, "n1", path)
			assert.Equal(t, http.StatusServiceUnavailable, w.Code)
			assert.Contains(t, w.Body.String(), "the node does not answer")
			assert.Less(t, time.Since(begin), time.Second)
		}
		begin := time.Now()
		_ = c.get(t, "n1", "/leader")
		_ = c.get(t, "n1", "/readyz")
		assert.Zero(t, time.Since(begin), "these paths do not wait for the loop")
	})
}

// A node that does not run, before its start or after its stop, reports errors without a delay.
func TestStoppedNodeReportsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:7400", Members: []string{"127.0.0.1:7400"}, Lease: lease.Off})
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		h := web.New(ctx, n)
		for path, code := range map[string]int{"/livez": 503, "/readyz": 503, "/leader": 503, "/status": 503} {
			assert.Equal(t, code, ask(h, http.MethodGet, path).Code, path)
		}
		end()
		synctest.Wait()
		w := ask(h, http.MethodGet, "/events")
		assert.Equal(t, "retry: 2000\n\n", w.Body.String(), "the stream ends at once")
	})
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		c.Stop("n1")
		for _, path := range []string{"/livez", "/readyz", "/leader", "/status"} {
			w := c.get(t, "n1", path)
			assert.Equal(t, http.StatusServiceUnavailable, w.Code, path)
		}
		assert.Contains(t, c.get(t, "n1", "/livez").Body.String(), "the node stopped")
	})
}

// The handler accepts only GET and HEAD, and serves only its own paths.
func TestMethods(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		h := c.sites["n1"]
		for _, path := range paths {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
				w := ask(h, method, path)
				assert.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
				assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
			}
			w := ask(h, http.MethodHead, path)
			assert.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, w.Code, path)
		}
		for _, path := range []string{"/leader/", "/nothing", "/events/x", "/../etc/passwd"} {
			assert.Contains(t, []int{http.StatusNotFound, http.StatusTemporaryRedirect, http.StatusMovedPermanently}, ask(h, http.MethodGet, path).Code, path)
		}
	})
}

// A browser may not show a response in a frame, guess its type, store it, or load other content for it.
func TestHeaders(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		for _, path := range append(paths, "/nothing") {
			header := ask(c.sites["n1"], http.MethodHead, path).Header()
			assert.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'", path)
			assert.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
			assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
			assert.Equal(t, "no-store", header.Get("Cache-Control"), path)
		}
	})
}

// The node ignores the body of a request and answers.
func TestNodeIgnoresRequestBody(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		w := httptest.NewRecorder()
		c.sites["n1"].ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", strings.NewReader(strings.Repeat("x", 1<<20))))
		assert.Equal(t, http.StatusOK, w.Code)
	})
}

// paths are all paths of the site.
var paths = []string{"/leader", "/status", "/events", "/livez", "/readyz", "/metrics", "/"}
