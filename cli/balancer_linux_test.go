package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/tlsauth"
)

// snippet returns an example of docs/operations.md after replacements. Each replaced text must occur in it.
func snippet(t *testing.T, name string, oldnew ...string) string {
	t.Helper()
	document, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(document), "<!-- example: "+name+" -->\n")
	require.True(t, found, name)
	var text strings.Builder
	for line := range strings.Lines(block) {
		if inner, ok := strings.CutPrefix(line, "    "); ok {
			text.WriteString(inner)
		} else if strings.TrimSpace(line) != "" {
			break
		}
	}
	for i := 0; i < len(oldnew); i += 2 {
		require.Contains(t, text.String(), oldnew[i])
	}
	return strings.NewReplacer(oldnew...).Replace(text.String())
}

// httpsNodes are three members. Each has its own loopback address, which stands for a machine.
type httpsNodes struct {
	*httpAuthority
	nodes map[string]*process // by address
	port  string              // of HTTP, on all
}

// hostsOf has the addresses in the snippets, each before the loopback address that replaces it.
var hostsOf = []string{"10.0.0.1", "127.0.1.1", "10.0.0.2", "127.0.1.2", "10.0.0.3", "127.0.1.3"}

// freePort returns a port that is free on the loopback.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func startHTTPSNodes(t *testing.T) *httpsNodes {
	m := &httpsNodes{newHTTPAuthority(t), make(map[string]*process), freePort(t)}
	var hosts, members []string
	for i := 1; i < len(hostsOf); i += 2 {
		hosts = append(hosts, hostsOf[i])
		members = append(members, hostsOf[i]+":"+freePort(t))
	}
	for i, host := range hosts {
		id := tlsauth.Identity{Cluster: "demo", Role: tlsauth.Member, Names: []string{host}}
		cert, key, err := tlsauth.Issue(m.cert, m.key, id, time.Hour, host)
		require.NoError(t, err)
		m.nodes[host] = launch(t, "node", "--cluster", "demo", "--name", host, "--listen", members[i], "--data-dir", filepath.Join(m.dir, host),
			"--members", strings.Join(members, ","), "--http", host+":"+m.port, "--http-health-without-credentials", "--http-tls-ca", filepath.Join(m.dir, "ca.crt"),
			"--http-tls-cert", m.write(t, host+".crt", cert), "--http-tls-key", m.write(t, host+".key", key))
	}
	return m
}

// TestHAProxyFollowsLeader runs HAProxy with the configuration in docs/operations.md, in front of three members and
// their services.
func TestHAProxyFollowsLeader(t *testing.T) {
	testkit.OnlyLong(t)
	haproxy, err := exec.LookPath("haproxy")
	testkit.Need(t, err == nil, "haproxy (apt-get install haproxy)")
	m := startHTTPSNodes(t)
	service, bind := freePort(t), "127.0.0.1:"+freePort(t)
	for host := range m.nodes {
		l, err := net.Listen("tcp", host+":"+service)
		require.NoError(t, err)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, host) }))
		require.NoError(t, s.Listener.Close())
		s.Listener = l
		s.Start()
		t.Cleanup(s.Close)
	}
	config := m.write(t, "haproxy.cfg", []byte(snippet(t, "haproxy", append(hostsOf, "bind :80", "bind "+bind, ":8080", ":"+service, "port 7480", "port "+m.port, "/etc/elect", m.dir)...)))
	out, err := exec.CommandContext(t.Context(), haproxy, "-c", "-f", config).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "WARNING")
	log := newLineBuffer()
	proxy := exec.CommandContext(within(t), haproxy, "-db", "-f", config)
	proxy.Stdout, proxy.Stderr = log, log
	require.NoError(t, proxy.Start())
	t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })

	direct := m.client(t)
	direct.Timeout = time.Second
	viaProxy := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer := func(c *http.Client, url string) (status int, text string) {
		a, err := c.Get(url)
		if err != nil {
			return 0, err.Error()
		}
		defer a.Body.Close()
		body, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(body)
	}
	// reached waits until the proxy forwards to the leader of the cluster.
	reached := func(not string) (leader string) {
		require.Eventually(t, func() bool {
			status, host := answer(viaProxy, "http://"+bind+"/")
			if status != http.StatusOK || host == not {
				return false
			}
			leads, _ := answer(direct, "https://"+net.JoinHostPort(host, m.port)+"/leader")
			leader = host
			return leads == http.StatusOK
		}, patience, 20*time.Millisecond, "%s", log.text())
		return leader
	}
	first := reached("")
	require.NoError(t, m.nodes[first].Process.Kill())
	second := reached(first)
	require.NotEqual(t, first, second)
	status, _ := answer(direct, "https://"+net.JoinHostPort(second, m.port)+"/status")
	require.Equal(t, http.StatusForbidden, status, "the proxy has no credentials")
}

// TestPrometheusScrapesWithCertificate runs Prometheus with the configuration in docs/operations.md.
func TestPrometheusScrapesWithCertificate(t *testing.T) {
	testkit.OnlyLong(t)
	prometheus, err := exec.LookPath("prometheus")
	testkit.Need(t, err == nil, "prometheus (apt-get install prometheus)")
	m := startHTTPSNodes(t)
	cert, key, err := tlsauth.Issue(m.cert, m.key, tlsauth.Identity{Cluster: "demo", Role: tlsauth.Observer}, time.Hour)
	require.NoError(t, err)
	m.write(t, "observer.crt", cert)
	m.write(t, "observer.key", key)
	config := m.write(t, "prometheus.yml", []byte(snippet(t, "prometheus", append(hostsOf, ":7480", ":"+m.port, "15s", "1s", "/etc/prometheus/elect", m.dir)...)))
	listen := "127.0.0.1:" + freePort(t)
	log := newLineBuffer()
	server := exec.CommandContext(within(t), prometheus, "--config.file", config, "--storage.tsdb.path", filepath.Join(m.dir, "data"), "--web.listen-address", listen)
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	sum := func(metric string) (value string) {
		a, err := http.Get("http://" + listen + "/api/v1/query?query=" + url.QueryEscape(fmt.Sprintf("sum(%s)", metric)))
		if err != nil {
			return err.Error()
		}
		defer a.Body.Close()
		var said struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if err := json.NewDecoder(a.Body).Decode(&said); err != nil || len(said.Data.Result) == 0 {
			return "none"
		}
		return fmt.Sprint(said.Data.Result[0].Value[1])
	}
	require.Eventually(t, func() bool {
		return sum("up") == "3" && sum("elect_is_leader") == "1" && sum("elect_leader_known") == "3"
	},
		patience, 50*time.Millisecond, "%s", log.text())
}
