package kubernetes_test

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/enginetest"
	"github.com/elect-go/elect/elector/kubernetes"
	"github.com/elect-go/elect/elector/kubernetes/internal/kubetest"
)

const addressVariable = "ELECTOR_TEST_ADDRESS" // of the server, for a contender in a process of its own

func TestMain(m *testing.M) { enginetest.Main(m, newChild) }

func newChild() (elector.Elector, error) { return newAt(os.Getenv(addressVariable), "child") }

func newAt(address, name string) (elector.Elector, error) {
	return kubernetes.New(kubernetes.Config{REST: &rest.Config{Host: "http://" + address}, Namespace: "default", Lease: "pause", Name: name, LeaseDuration: kubetest.LeaseDuration})
}

func TestProcessDoesNotWorkWithoutLease(t *testing.T) {
	enginetest.TestProcessWithoutLease(t, func(t *testing.T) enginetest.Trial {
		s := httptest.NewServer(kubetest.NewServer())
		t.Cleanup(s.CloseClientConnections) // a watch would delay the end of Close
		t.Cleanup(s.Close)
		address := strings.TrimPrefix(s.URL, "http://")
		link := enginetest.NewLink()
		next, err := newAt(address, "next")
		require.NoError(t, err)
		return enginetest.Trial{Link: link, Next: next, Environment: []string{addressVariable + "=" + link.Proxy(t, address)}}
	})
}
