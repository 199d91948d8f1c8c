package tlsauth

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write creates or replaces a file that only this user can read, and returns its path.
func write(t testing.TB, path string, lines ...string) string {
	t.Helper()
	fresh := path + ".new"
	require.NoError(t, os.WriteFile(fresh, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	require.NoError(t, os.Rename(fresh, path))
	return path
}

// holder returns an endpoint with these secrets. It uses the first one.
func holder(t testing.TB, secrets ...string) *Endpoint {
	return endpoint(t, Config{Cluster: "demo", SecretFile: write(t, filepath.Join(t.TempDir(), "secret"), secrets...)})
}

func endpoint(t testing.TB, c Config) *Endpoint {
	t.Helper()
	e, err := New(c)
	require.NoError(t, err)
	return e
}

// authority is a certificate authority.
type authority struct {
	t         testing.TB
	folder    string
	ca        string
	cert, key []byte
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, folder: t.TempDir()}
	var err error
	a.cert, a.key, err = NewAuthority("demo", 1000*24*time.Hour)
	require.NoError(t, err)
	a.ca = write(t, filepath.Join(a.folder, "ca.crt"), string(a.cert))
	return a
}

func member(name string) Identity {
	return Identity{Cluster: "demo", Role: Member, Names: []string{name}}
}

// issue writes the files of a certificate that is valid for life, and returns their configuration.
func (a *authority) issue(id Identity, life time.Duration) Config {
	cert, key, err := Issue(a.cert, a.key, id, life)
	require.NoError(a.t, err)
	at := filepath.Join(a.folder, strings.ReplaceAll(id.String(), " ", "-"))
	return Config{
		Cluster: "demo",
		TLS:     Certificate{CA: a.ca, Cert: write(a.t, at+".crt", string(cert)), Key: write(a.t, at+".key", string(key))},
	}
}

func (a *authority) endpoint(id Identity) *Endpoint {
	return endpoint(a.t, a.issue(id, 24*time.Hour))
}

// end is the result of a handshake at one end of a connection.
type end struct {
	net.Conn
	id  Identity
	err error
}

// proved returns the identity without the credential that proved it.
func (e end) proved() Identity {
	e.id.credential = nil
	return e.id
}

// meet connects two endpoints. An endpoint that fails closes its end.
func meet(t testing.TB, dials, listens *Endpoint) (dialled, accepted end) {
	near, far := pipe(t)
	return shake(near, far, dials, listens)
}

func pipe(t testing.TB) (near, far net.Conn) {
	near, far = net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func shake(near, far net.Conn, dials, listens *Endpoint) (dialled, accepted end) {
	var both sync.WaitGroup
	both.Go(func() { dialled = as(near, dials.Client) })
	both.Go(func() { accepted = as(far, listens.Server) })
	both.Wait()
	return dialled, accepted
}

func as(nc net.Conn, role func(net.Conn) (net.Conn, Identity, error)) (e end) {
	nc.SetDeadline(time.Now().Add(5 * time.Second))
	if e.Conn, e.id, e.err = role(nc); e.err != nil {
		nc.Close()
	}
	nc.SetDeadline(time.Time{})
	return e
}

// talk sends a word each way.
func talk(t testing.TB, a, b net.Conn) {
	t.Helper()
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() { _, _ = io.WriteString(ends[0], "hello") }()
		got := make([]byte, len("hello"))
		_, err := io.ReadFull(ends[1], got)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
	}
}

// attacker is a peer that knows no secret.
type attacker struct {
	*tls.Conn
	material []byte
}

func attack(t testing.TB, nc net.Conn, dials bool) *attacker {
	own, err := ephemeral()
	require.NoError(t, err)
	wrap := tls.Server
	if dials {
		wrap = tls.Client
	}
	a := &attacker{Conn: wrap(nc, keys{own: own}.tlsConfig())}
	_, a.material, err = openChannel(a.Conn)
	require.NoError(t, err)
	return a
}

type attackConfig = tls.Config

// tlsAttack dials as a peer that knows the secret, with a changed TLS configuration.
func tlsAttack(t testing.TB, nc net.Conn, known secret, change func(*attackConfig)) {
	own, err := ephemeral()
	require.NoError(t, err)
	config := keys{own: own}.tlsConfig()
	change(config)
	c := tls.Client(nc, config)
	defer nc.Close()
	if c.Handshake() != nil {
		return
	}
	state := c.ConnectionState()
	material, err := state.ExportKeyingMaterial("EXPORTER-Channel-Binding", nil, proofLen)
	require.NoError(t, err)
	_, _ = c.Write(append([]byte{kindProved}, known.proof(client, "demo", material)...))
	_, _ = c.Read(make([]byte, 1+proofLen))
}

// rest returns all bytes that arrive until the connection ends.
func rest(c net.Conn) []byte {
	all, _ := io.ReadAll(c)
	return all
}
