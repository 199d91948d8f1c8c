package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/electortest"
	"github.com/elect-go/elect/elector/internal/enginetest"
	"github.com/elect-go/elect/elector/kubernetes"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

// inVirtualTime returns an elector with the clock of the bubble.
func inVirtualTime(c kubernetes.Config) (*kubernetes.Elector, error) { return withRate(c, 1) }

// withRate returns an elector with a clock that runs at rate times the normal speed.
func withRate(c kubernetes.Config, rate float64) (*kubernetes.Elector, error) {
	e, err := kubernetes.New(c)
	if err == nil {
		started := time.Now()
		kubernetes.SetClock(e, func() time.Duration { return time.Duration(float64(time.Since(started)) * rate) })
	}
	return e, err
}

func TestElector(t *testing.T) {
	electortest.Run(t, electortest.Engine{
		Within: synctest.Test,
		New: func(t *testing.T, contenders int) electortest.Group {
			return kubetest.NewGroup(t, kubetest.NewLocal(t), inVirtualTime, contenders)
		},
	})
}

// virtually runs a test with a group in virtual time.
func virtually(t *testing.T, contenders int, test func(t *testing.T, g *kubetest.Group, s *kubetest.Local)) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.NewLocal(t)
		test(t, kubetest.NewGroup(t, s, inVirtualTime, contenders), s)
	})
}

// keyOf returns the name of the Lease of a group.
func keyOf(g *kubetest.Group) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: g.Lease}
}

// agree waits until all contenders of a group know the same leader, and returns it.
func agree(t *testing.T, g *kubetest.Group) elector.Leadership {
	t.Helper()
	for {
		var latest elector.Leadership
		known := make(map[string]elector.Leadership)
		for _, name := range g.Names() {
			l := enginetest.WaitState(t, g.Elector(name), elector.State.HasLeader).Leader
			if known[name] = l; l.Token > latest.Token {
				latest = l
			}
		}
		isAgreed := true
		for name, l := range known {
			if l.Token != latest.Token { // this contender will follow the latest leader, or a later one
				enginetest.WaitState(t, g.Elector(name), enginetest.IsAfter(l))
				isAgreed = false
			}
		}
		if isAgreed {
			return latest
		}
	}
}

// isWrite reports whether a request renews, takes or releases a Lease.
func isWrite(r *http.Request) bool { return r.Method == http.MethodPut }

func isRead(r *http.Request) bool { return r.Method == http.MethodGet && !isWatch(r) }

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

var errLost = errors.New("the answer was lost")

// loseAnswer lets the server handle a request, and loses its answer.
func loseAnswer(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	return nil, errors.Join(errLost, err)
}

func TestLeaseShowsLeader(t *testing.T) {
	virtually(t, 0, func(t *testing.T, g *kubetest.Group, s *kubetest.Local) {
		c := g.Config("n1")
		c.Meta = map[string]string{"http": "10.0.0.1:80"}
		g.StartWith(c, nil)
		state := enginetest.WaitState(t, g.Elector("n1"), enginetest.IsLeader)
		require.Equal(t, kubetest.LeaseDuration, time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Truncate(time.Millisecond), "a new Lease is taken after its duration")
		l, err := s.Get(keyOf(g))
		require.NoError(t, err)
		require.Equal(t, "n1", *l.Spec.HolderIdentity)
		require.EqualValues(t, 5, *l.Spec.LeaseDurationSeconds)
		require.EqualValues(t, 1, *l.Spec.LeaseTransitions)
		require.True(t, l.Spec.AcquireTime.Equal(l.Spec.RenewTime))
		require.Contains(t, l.Annotations["elect-go.github.io/leadership"], `"token":42`)
		require.EqualValues(t, 42, state.Leader.Token, "the version that the takeover has replaced")
		g.Start("n2")
		state = enginetest.WaitState(t, g.Elector("n2"), elector.State.HasLeader)
		require.Equal(t, "n1", state.Leader.Name)
		require.Equal(t, c.Meta, state.Leader.Meta)
		require.EqualValues(t, 42, state.Leader.Token)
		g.Stop("n1")
		state = enginetest.WaitState(t, g.Elector("n2"), enginetest.IsLeader)
		l, err = s.Get(keyOf(g))
		require.NoError(t, err)
		require.EqualValues(t, 2, *l.Spec.LeaseTransitions)
		require.Greater(t, state.Leader.Token, uint64(42))
		g.Stop("n2")
		l, err = s.Get(keyOf(g))
		require.NoError(t, err)
		require.Empty(t, *l.Spec.HolderIdentity)
	})
}

func TestConfigMistakes(t *testing.T) {
	_, err := kubernetes.New(kubernetes.Config{REST: &rest.Config{}, Namespace: "A", LeaseDuration: 1500 * time.Millisecond, RenewDeadline: 1400 * time.Millisecond, RetryPeriod: time.Second, DrainTimeout: -1})
	for _, want := range []string{`kubernetes: namespace is "A", want a name of Kubernetes: `, `kubernetes: lease is "", want a name of Kubernetes: `,
		"kubernetes: lease duration is 1.5s, want whole seconds, at least 1s",
		"kubernetes: renew deadline is 1.4s, want at most nine tenths of the lease duration: 1.35s", "kubernetes: retry period is 1s, want at most half of the renew deadline: 700ms",
		"kubernetes: drain timeout is -1ns, want a positive one"} {
		require.ErrorContains(t, err, want)
	}
	_, err = kubernetes.New(kubernetes.Config{Lease: "a"})
	require.ErrorIs(t, err, rest.ErrNotInCluster)
	require.True(t, strings.HasPrefix(err.Error(), "kubernetes: REST is empty, and the process runs in no pod: "), err)
}

// reject answers a request with an error of the API server.
func reject(r *http.Request, err *apierrors.StatusError) (*http.Response, error) {
	err.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, marshal := json.Marshal(err.ErrStatus)
	return answer(r, int(err.ErrStatus.Code), body), marshal
}

// answer returns a response with a JSON body.
func answer(r *http.Request, code int, body []byte) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}
}

var leases = schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}

func forbidden() *apierrors.StatusError {
	return apierrors.NewForbidden(leases, "x", errors.New("no role allows it"))
}

func notFound() *apierrors.StatusError { return apierrors.NewNotFound(leases, "x") }

func gone() *apierrors.StatusError { return apierrors.NewResourceExpired("too old resource version") }

func tooManyRequests() *apierrors.StatusError {
	return apierrors.NewTooManyRequests("the server is overloaded", 1)
}

func internalError() *apierrors.StatusError {
	return apierrors.NewInternalError(errors.New("etcdserver: no leader"))
}

// TestServer checks the API server of these tests. Module apiserver checks that of Kubernetes the same way.
func TestServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { kubetest.CheckServer(t, kubetest.NewLocal(t)) })
}
