package web_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
	"github.com/elect-go/elect/tlsauth"
)

// figures are the metrics that a node serves, by name.
type figures map[string]*dto.MetricFamily

func (c *watched) scrape(t *testing.T, name string) figures {
	t.Helper()
	w := c.get(t, name, "/metrics")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", w.Header().Get("Content-Type"))
	return parseMetrics(t, w.Body)
}

func parseMetrics(t *testing.T, page io.Reader) figures {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(page)
	require.NoError(t, err)
	return all
}

// value returns the sum of the gauges and counters with these labels, each "name=value".
func (f figures) value(name string, labels ...string) (sum float64) {
	for _, m := range f["elect_"+name].GetMetric() {
		has := make(map[string]bool)
		for _, l := range m.GetLabel() {
			has[l.GetName()+"="+l.GetValue()] = true
		}
		all := true
		for _, l := range labels {
			all = all && has[l]
		}
		if all {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum
}

func TestMetrics(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		old := c.WaitLeader()
		c.Advance(time.Minute)
		c.Kill(old.Name)
		next := c.WaitLeader()
		synctest.Wait()
		other := c.other(next.Name).Config().Name
		leader, follower := c.scrape(t, next.Name), c.scrape(t, other)
		for _, f := range []figures{leader, follower} {
			assert.EqualValues(t, 1, f.value("leader_known"))
			assert.EqualValues(t, next.Epoch, f.value("epoch"))
			assert.EqualValues(t, 2, f.value("leader_changes_total"), "since its handler was made")
			assert.EqualValues(t, 1, f.value("members", "state=self"))
			assert.EqualValues(t, 3, f.value("members"))
			assert.EqualValues(t, 1, f.value("loop_responsive"))
			assert.EqualValues(t, 1, f.value("config_committed"))
			for _, direction := range []string{"direction=sent", "direction=received"} {
				assert.Positive(t, f.value("messages_total", direction, "kind=heartbeat"))
				assert.Greater(t, f.value("message_bytes_total", direction, "kind=heartbeat"), f.value("messages_total", direction, "kind=heartbeat"))
				assert.Greater(t, f.value("wire_bytes_total", direction), f.value("message_bytes_total", direction))
				assert.Positive(t, f.value("frames_total", direction))
			}
			assert.Positive(t, f.value("connections"))
			assert.Positive(t, f.value("dials_total"))
			assert.Positive(t, f.value("elections_total", "cause=start"))
		}
		assert.EqualValues(t, 1, leader.value("is_leader"))
		assert.EqualValues(t, 0, follower.value("is_leader"))
		saved := leader["elect_save_duration_seconds"].GetMetric()[0].GetSummary()
		assert.Positive(t, saved.GetSampleCount())

		// A refused dial caused the suspicion of the killed member. It was replaced once.
		refused := leader.value("suspicions_total", "cause=refused") + follower.value("suspicions_total", "cause=refused")
		assert.GreaterOrEqual(t, refused, 1.0)
		assert.Positive(t, leader.value("elections_total", "cause=refused")+follower.value("elections_total", "cause=refused"))
		took := leader["elect_failover_seconds"].GetMetric()[0].GetHistogram()
		assert.EqualValues(t, 1, took.GetSampleCount())
		assert.Less(t, took.GetSampleSum(), 10.0)
		assert.Equal(t, "name="+next.Name, "name="+label(leader["elect_node_info"], "name"))
	})
}

func label(f *dto.MetricFamily, name string) string {
	for _, l := range f.GetMetric()[0].GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// A scrape during a partition has the metrics of the node without a delay.
func TestScrapeDuringPartition(t *testing.T) {
	vote := func(c *cluster.Config) { c.Algorithm = builtin.Lookup("vote") }
	inBubble(t, clustertest.Config{Configure: vote}, func(t *testing.T, c *watched) {
		old := c.WaitLeader()
		before := c.scrape(t, old.Name)
		c.Partition([]string{old.Name})
		c.Advance(time.Minute)
		begin := time.Now()
		cut := c.scrape(t, old.Name)
		assert.Zero(t, time.Since(begin), "the scrape waits for no member")
		assert.EqualValues(t, 1, before.value("is_leader"))
		assert.EqualValues(t, 0, cut.value("is_leader"))
		assert.EqualValues(t, 0, cut.value("leader_known"))
		assert.EqualValues(t, 0, cut.value("epoch"))
		assert.EqualValues(t, 2, cut.value("members", "state=suspected"))
		assert.Positive(t, cut.value("suspicions_total", "cause=silence"))
		rest := c.scrape(t, c.other(old.Name).Config().Name)
		assert.EqualValues(t, 1, rest.value("leader_known"))
	})
}

// n1 has other options of the algorithm than its two peers. It warns of both, and each of them warns of n1.
func TestWarningsInMetrics(t *testing.T) {
	other := func(c *cluster.Config) {
		if c.Name == "n1" {
			c.Algorithm = bully.With(func(o *bully.Options) { o.SkipSuspected = false })
		}
	}
	inBubble(t, clustertest.Config{Configure: other}, func(t *testing.T, c *watched) {
		c.WaitLeader()
		c.Advance(time.Second)
		assert.EqualValues(t, 2, c.scrape(t, "n1").value("warnings"))
		assert.EqualValues(t, 1, c.scrape(t, "n2").value("warnings"))
		c.Advance(15 * time.Minute)
		assert.EqualValues(t, 0, c.scrape(t, "n1").value("warnings"), "the warning expires")
	})
}

// A node with a blocked loop still serves the metrics that do not need the loop.
func TestScrapeOfBlockedNode(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		leads := c.WaitLeader()
		c.Pause(leads.Name)
		defer c.Resume(leads.Name)
		f := c.scrape(t, leads.Name)
		assert.EqualValues(t, 0, f.value("loop_responsive"))
		assert.EqualValues(t, 1, f.value("is_leader"))
		assert.NotContains(t, f, "elect_members")
	})
}

func TestMetricsAreLinted(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		c.Kill(c.WaitLeader().Name)
		problems, err := promlint.New(c.get(t, c.WaitLeader().Name, "/metrics").Body).Lint()
		require.NoError(t, err)
		assert.Empty(t, problems)
	})
}

func TestServiceAppendsMetrics(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		page := httptest.NewRecorder()
		promhttp.HandlerFor(ownMetrics(), promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		require.NoError(t, c.sites["n1"].WriteMetrics(t.Context(), page))
		all := parseMetrics(t, page.Body)
		assert.EqualValues(t, 7, all["jobs"].GetMetric()[0].GetGauge().GetValue())
		assert.EqualValues(t, 1, all.value("loop_responsive"))
	})
}

// ownMetrics returns the registry of a service.
func ownMetrics() *prometheus.Registry {
	jobs := prometheus.NewGauge(prometheus.GaugeOpts{Name: "jobs", Help: "Jobs."})
	jobs.Set(7)
	registry := prometheus.NewRegistry()
	registry.MustRegister(jobs)
	return registry
}

func TestWriteMetricsReturnsError(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		c.Pause("n1") // no answer before the end of ctx
		defer c.Resume("n1")
		assert.ErrorIs(t, c.sites["n1"].WriteMetrics(ctx, io.Discard), gone)
		reader, writer := io.Pipe()
		reader.CloseWithError(gone)
		assert.ErrorIs(t, c.sites["n2"].WriteMetrics(t.Context(), writer), gone)
	})
}

// docs/operations.md describes each metric, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		old := c.WaitLeader().Name
		c.Kill(old)
		c.Advance(time.Minute)
		text, err := os.ReadFile("../docs/operations.md")
		require.NoError(t, err)
		var documented []string
		for line := range strings.Lines(string(text)) {
			if first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |"); strings.HasPrefix(first, "`elect_") {
				documented = append(documented, strings.Split(strings.Trim(first, "`"), "`, `")...)
			}
		}
		there := slices.Collect(maps.Keys(c.scrape(t, c.WaitLeader().Name)))
		assert.Subset(t, documented, there)
		// This test causes none of these.
		there = append(there, "elect_connections_closed_total", "elect_frames_dropped_total", "elect_lease_remaining_seconds", "elect_nonmember_messages_total", "elect_certificate_expiry_timestamp_seconds", "elect_http_certificate_expiry_timestamp_seconds")
		assert.ElementsMatch(t, documented, slices.Compact(slices.Sorted(slices.Values(there))))
	})
}

// In a cluster with certificates, a metric shows the end of the node's certificate.
func TestMetricsReportCertificateExpiry(t *testing.T) {
	inBubble(t, clustertest.Config{Configure: certified(t)}, func(t *testing.T, c *watched) {
		end := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
		assert.EqualValues(t, end.Unix(), c.scrape(t, "n1").value("certificate_expiry_timestamp_seconds"))
	})
}

// The metric of the server's own certificate is there only if the server has one, also while the loop is blocked.
func TestMetricsReportHTTPCertificateExpiry(t *testing.T) {
	inBubble(t, clustertest.Config{}, func(t *testing.T, c *watched) {
		name := c.WaitLeader().Name
		assert.NotContains(t, c.scrape(t, name), "elect_http_certificate_expiry_timestamp_seconds")
		end := time.Now().Add(time.Hour)
		c.sites[name].ShowCertificateEnd(func() time.Time { return end })
		c.Advance(time.Second)
		c.Pause(name)
		defer c.Resume(name)
		assert.EqualValues(t, end.Unix(), c.scrape(t, name).value("http_certificate_expiry_timestamp_seconds"))
	})
}

// certified gives each node a certificate for an hour.
func certified(t *testing.T) func(c *cluster.Config) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	var ca, key []byte
	return func(c *cluster.Config) {
		var err error
		if ca == nil { // in the bubble, because its time is virtual
			ca, key, err = tlsauth.NewAuthority("elect", 24*time.Hour)
			require.NoError(t, err)
		}
		cert, own, err := tlsauth.Issue(ca, key, tlsauth.Identity{Cluster: "elect", Role: tlsauth.Member, Names: []string{c.Name}}, time.Hour)
		require.NoError(t, err)
		c.TLS = tlsauth.Certificate{Cert: write(c.Name+".crt", cert), Key: write(c.Name+".key", own), CA: write("ca", ca)}
	}
}
