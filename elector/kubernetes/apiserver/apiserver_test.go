package apiserver_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	rbac "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/elector/kubernetes"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

// TestMain runs kube-apiserver if a test has started this process for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "kube-apiserver" {
		command := app.NewAPIServerCommand()
		command.SetArgs(os.Args[2:])
		os.Exit(cli.Run(command))
	}
	os.Exit(m.Run())
}

// host is a kube-apiserver in its own process. It implements kubetest.Host.
type host struct {
	t       *testing.T
	port    string
	flags   []string
	log     *bytes.Buffer
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// freePort returns a port that was free just now.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func startEtcd(t *testing.T) string {
	c := embed.NewConfig()
	c.Dir = t.TempDir()
	address := func() []url.URL { return []url.URL{{Scheme: "http", Host: "127.0.0.1:" + freePort(t)}} }
	c.ListenPeerUrls, c.ListenClientUrls = address(), address()
	c.AdvertisePeerUrls, c.AdvertiseClientUrls = c.ListenPeerUrls, c.ListenClientUrls
	c.InitialCluster = c.Name + "=" + c.ListenPeerUrls[0].String()
	c.UnsafeNoFsync = true // no test crashes the machine
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(c)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	return c.ListenClientUrls[0].String()
}

// The users of the API server, and their tokens.
const (
	admin     = "admin"
	contender = "contender" // has the permissions of a contender for all Leases in a namespace
	named     = "named"     // has the role that docs/outgrowing.md shows
)

func newHost(t *testing.T) *host {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	keyFile := write("key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	tokens := write("tokens", []byte(admin+",admin,1,system:masters\n"+contender+",contender,2\n"+named+",named,3\n"))
	h := &host{t: t, port: freePort(t)}
	h.flags = []string{
		"kube-apiserver", "--etcd-servers=" + startEtcd(t), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--secure-port=" + h.port, "--cert-dir=" + dir, "--token-auth-file=" + tokens, "--authorization-mode=RBAC",
		"--service-account-issuer=https://test", "--service-account-signing-key-file=" + keyFile, "--service-account-key-file=" + keyFile,
		"--service-cluster-ip-range=10.96.0.0/24",
	}
	t.Cleanup(h.Kill)
	h.Start()
	h.allow()
	return h
}

// config returns the configuration of a user.
func (h *host) config(user string) *rest.Config {
	return &rest.Config{Host: "https://127.0.0.1:" + h.port, BearerToken: user, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func (h *host) Config() *rest.Config { return h.config(contender) }

func (h *host) Start() {
	h.t.Helper()
	h.log = new(bytes.Buffer)
	h.process = exec.Command(os.Args[0], h.flags...)
	h.process.Stderr = h.log
	h.ended = make(chan struct{})
	require.NoError(h.t, h.process.Start())
	go func(p *exec.Cmd, ended chan struct{}) {
		_ = p.Wait() // the reason does not matter
		close(ended)
	}(h.process, h.ended)
	client, err := discovery.NewDiscoveryClientForConfig(h.config(admin))
	require.NoError(h.t, err)
	ready := func() bool {
		ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
		defer cancel()
		_, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil
	}
	limit := time.After(3 * time.Minute)
	for !ready() {
		select {
		case <-time.After(100 * time.Millisecond):
			continue
		case <-limit:
		case <-h.ended:
		}
		h.Kill()
		require.Fail(h.t, "the API server is not ready", h.log.String())
	}
}

func (h *host) Kill() {
	_ = h.process.Process.Kill() // the process may have ended already
	<-h.ended
}

// allow gives each user its role.
func (h *host) allow() {
	client, err := rbac.NewForConfig(h.config(admin))
	require.NoError(h.t, err)
	rule := func(names []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: names, Verbs: verbs}
	}
	for user, rules := range map[string][]rbacv1.PolicyRule{
		contender: {rule(nil, "get", "watch", "create", "update")},
		named:     {rule(nil, "create"), rule([]string{"leader"}, "get", "watch", "update")},
	} {
		_, err = client.Roles("default").Create(h.t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{})
		require.NoError(h.t, err)
		_, err = client.RoleBindings("default").Create(h.t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}, metav1.CreateOptions{})
		require.NoError(h.t, err)
	}
	// The authorizer knows a role only a moment later.
	for _, user := range []string{contender, named} {
		leases, err := coordination.NewForConfig(h.config(user))
		require.NoError(h.t, err)
		require.Eventually(h.t, func() bool {
			_, err := leases.Leases("default").Get(h.t.Context(), "leader", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}, time.Minute, 50*time.Millisecond)
	}
}

// asAdmin is a host with a client that may do everything.
type asAdmin struct{ *host }

func (h asAdmin) Config() *rest.Config { return h.config(admin) }

func TestServer(t *testing.T) { kubetest.CheckServer(t, asAdmin{newHost(t)}) }

func TestElector(t *testing.T) {
	h := newHost(t)
	electortest.Run(t, electortest.Engine{New: func(t *testing.T, contenders int) electortest.Group {
		return kubetest.NewGroup(t, h, kubernetes.New, contenders)
	}})
}

func TestContenderWithoutPermission(t *testing.T) {
	h := newHost(t)
	e, err := kubernetes.New(kubernetes.Config{REST: h.Config(), Namespace: "kube-system", Lease: "x", Name: "n1"})
	require.NoError(t, err)
	err = e.Run(t.Context())
	require.ErrorContains(t, err, `kubernetes: read Lease kube-system/x: leases.coordination.k8s.io "x" is forbidden: User "contender" cannot get resource "leases"`)
	c := h.Config()
	c.BearerToken = "wrong"
	e, err = kubernetes.New(kubernetes.Config{REST: c, Namespace: "default", Lease: "x", Name: "n1"})
	require.NoError(t, err)
	require.EqualError(t, e.Run(t.Context()), "kubernetes: read Lease default/x: Unauthorized")
}

// The role in docs/outgrowing.md is enough, also for renewals and for a second watch.
func TestDocumentedRole(t *testing.T) {
	h := newHost(t)
	writes, watches := make(chan struct{}, 100), make(chan struct{}, 100)
	l := kubetest.NewLink()
	l.Intercept(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusOK {
			switch {
			case r.Method == http.MethodPut:
				writes <- struct{}{}
			case r.URL.Query().Get("watch") != "":
				watches <- struct{}{}
			}
		}
		return resp, err
	})
	var log bytes.Buffer
	e, err := kubernetes.New(kubernetes.Config{REST: l.Wrap(h.config(named)), Namespace: "default", Lease: "leader", Name: "n1",
		LeaseDuration: kubetest.LeaseDuration, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	err = elector.Run(t.Context(), e, func(ctx context.Context, l elector.Leadership) error {
		for _, events := range []<-chan struct{}{writes, writes, writes, watches, watches} { // the first write is the takeover
			select {
			case <-events:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, log.String())
}
