//go:build linux || darwin || freebsd

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elect-go/elect/elector/internal/enginetest"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

func TestMain(m *testing.M) { enginetest.CommandMain(m, main) }

// host is an API server at a TCP address.
type host struct {
	*kubetest.Server
	t       *testing.T
	address string
	running *http.Server
}

func newHost(t *testing.T) *host {
	h := &host{Server: kubetest.NewServer(), t: t, address: "127.0.0.1:0"}
	h.start()
	t.Cleanup(func() { _ = h.running.Close() })
	return h
}

func (h *host) start() {
	listen, err := net.Listen("tcp", h.address)
	require.NoError(h.t, err)
	h.address = listen.Addr().String()
	h.running = &http.Server{Handler: h.Server}
	go func() { _ = h.running.Serve(listen) }()
}

// kubeconfig writes a kubeconfig file. Its current context has the server at address, and the namespace shop.
func kubeconfig(t *testing.T, address string) (path string) {
	path = filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`
clusters: [{name: c, cluster: {server: "http://%s"}}, {name: none, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: good, context: {cluster: c, user: u, namespace: shop}}, {name: bad, context: {cluster: none, user: u}}]
current-context: good
`, address)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func command(t *testing.T) enginetest.Command {
	h := newHost(t)
	return enginetest.Command{
		Flags: func(t *testing.T, election string, l *enginetest.Link) []string {
			return []string{"--elector", "kubernetes:///" + election, "--kubeconfig", kubeconfig(t, l.Proxy(t, h.address))}
		},
		Lease: func(seconds int) []string { return []string{"--lease-duration", fmt.Sprintf("%ds", seconds)} },
		Touch: func(t *testing.T, election string) {
			require.NoError(t, h.Edit(types.NamespacedName{Namespace: "shop", Name: election}, func(l *coordinationv1.Lease) {
				l.Labels = map[string]string{"a": "b"}
			}))
		},
		StopServers: func() (start func()) {
			_ = h.running.Close()
			return h.start
		},
	}
}

func TestOnlyOneCommandRuns(t *testing.T)     { command(t).TestOnlyOneRuns(t) }
func TestOnce(t *testing.T)                   { command(t).TestOnce(t) }
func TestWatch(t *testing.T)                  { command(t).TestWatch(t) }
func TestWatcherSurvivesServers(t *testing.T) { command(t).TestWatcherSurvivesServers(t) }

// The command finds the API server and the namespace where kubectl does.
func TestServerAndNamespace(t *testing.T) {
	h := newHost(t)
	for i, tc := range []struct {
		namespace         string
		environment, args []string
	}{
		{"shop", []string{"KUBECONFIG=" + kubeconfig(t, h.address)}, []string{"--elector", "kubernetes:///l"}},
		{"other", nil, []string{"--elector", "kubernetes://other/l", "--kubeconfig", kubeconfig(t, h.address)}},
		{"third", nil, []string{"--elector", "kubernetes:///l", "--kubeconfig", kubeconfig(t, h.address), "-n", "third"}},
		{"default", []string{"KUBECONFIG=/dev/null"}, []string{"--elector", "kubernetes:///l", "--server", "http://" + h.address}},
		{"fifth", []string{"KUBECONFIG=" + kubeconfig(t, h.address)}, []string{"--elector", "kubernetes://fifth/l", "--context", "good"}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := enginetest.Launch(t, tc.environment, append(append([]string{"run"}, tc.args...), "--lease-duration", "1s", "--name", "a", "--",
				"sh", "-c", "read line; echo $line $ELECT_RUN_NODE $ELECT_RUN_TOKEN $ELECT_RUN_EPOCH $ELECT_RUN_CLUSTER; exit 7")...)
			words := strings.Fields(p.NextLine())
			require.Len(t, words, 4, "standard input has ended: %q", words)
			require.Equal(t, "a", words[0])
			require.Regexp(t, `^[1-9][0-9]*$`, words[1])
			require.Equal(t, words[1], words[2], "the epoch is the token")
			require.Regexp(t, `^[0-9a-f-]{36}$`, words[3])
			require.Equal(t, 7, p.Status())
			_, err := h.Get(types.NamespacedName{Namespace: tc.namespace, Name: "l"})
			require.NoError(t, err)
		})
	}
}

func TestUsage(t *testing.T) {
	good := []string{"--elector=kubernetes://shop/leader", "--server=http://127.0.0.1:1"}
	with := func(verb string, more ...string) []string { return append(append([]string{verb}, good...), more...) }
	enginetest.TestMistakes(t, [][2][]string{
		{with("run"), []string{"run wants -- and a command behind its flags", "See 'elect-kubernetes run --help'"}},
		{[]string{"watch"}, []string{"--elector is missing, want " + form}},
		{[]string{"watch", "--elector", "shop/leader", "--server", "http://127.0.0.1:1"}, []string{`--elector is "shop/leader", want ` + form}},
		{[]string{"watch", "--elector", "kubernetes://leader", "--server", "http://127.0.0.1:1"}, []string{`--elector is "kubernetes://leader", want ` + form}},
		{with("watch", "--namespace", "other"), []string{`--namespace is "other", and --elector names the namespace "shop": want one of them`}},
		{[]string{"watch", "--elector", "kubernetes://Shop/a/b", "--server", "http://127.0.0.1:1"}, []string{`namespace is "Shop", want a name of Kubernetes`, `lease is "a/b", want a name of Kubernetes`}},
		{with("watch", "--lease-duration", "1500ms"), []string{"lease duration is 1.5s, want whole seconds, at least 1s"}},
		{with("run", "--renew-deadline", "15s", "--retry-period", "8s", "--log", "xml", "--", "no-such-command"), []string{
			"renew deadline is 15s, want at most nine tenths of the lease duration: 13.5s",
			"retry period is 8s, want at most half of the renew deadline: 7.5s", `--log is "xml"`, "no-such-command",
		}},
		{with("watch", "--kubeconfig", "/no/such/file"), []string{"/no/such/file: no such file"}},
		{with("watch", "--context", "none"), []string{`context "none" does not exist`}},
		{[]string{"watch", "--elector", "kubernetes://shop/leader", "--kubeconfig", "/dev/null"}, []string{"no API server is known: want --kubeconfig, KUBECONFIG"}},
		{with("watch", "x"), []string{`unknown command "x"`}},
	})
}

// The command uses the service account of a pod only if the file with its token exists.
func TestServiceAccountIsOnlyForPods(t *testing.T) {
	p := enginetest.Launch(t, []string{"KUBECONFIG=/dev/null", "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"}, "watch", "--elector", "kubernetes:///leader")
	require.Equal(t, 2, p.Status(), "there is no file with a token\n%s", p.Log())
	require.Contains(t, p.Log(), "no API server is known")
}
