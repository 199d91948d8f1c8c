package etcd_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/etcd"
	"github.com/elect-go/elect/elector/etcd/internal/etcdtest"
	"github.com/elect-go/elect/elector/internal/enginetest"
)

// Environment variables of a contender in its own process.
const (
	endpointsVariable = "ELECTOR_TEST_ENDPOINTS" // separated by commas
	prefixVariable    = "ELECTOR_TEST_PREFIX"
	certVariable      = "ELECTOR_TEST_CERT" // file with the certificate, which is also the CA
	keyVariable       = "ELECTOR_TEST_KEY"
)

func TestMain(m *testing.M) { enginetest.Main(m, newChild) }

func newChild() (elector.Elector, error) {
	files := transport.TLSInfo{CertFile: os.Getenv(certVariable), KeyFile: os.Getenv(keyVariable), TrustedCAFile: os.Getenv(certVariable)}
	tls, err := files.ClientConfig()
	if err != nil {
		return nil, err
	}
	return etcd.New(etcd.Config{Endpoints: strings.Split(os.Getenv(endpointsVariable), ","), Prefix: os.Getenv(prefixVariable), Name: "child", TTL: ttl, TLS: tls})
}

func TestProcessDoesNotWorkWithoutLease(t *testing.T) {
	s := etcdtest.StartTLS(t)
	enginetest.TestProcessWithoutLease(t, func(t *testing.T) enginetest.Trial {
		g := newGroup(t, s, 0)
		link := enginetest.NewLink()
		next, err := etcd.New(g.config("next", enginetest.NewLink()))
		require.NoError(t, err)
		return enginetest.Trial{Link: link, Next: next, Environment: []string{
			endpointsVariable + "=" + strings.Join(s.Proxies(link), ","), prefixVariable + "=" + g.prefix,
			certVariable + "=" + s.TLS.CertFile, keyVariable + "=" + s.TLS.KeyFile,
		}}
	})
}
