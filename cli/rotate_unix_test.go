//go:build unix

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/tlsauth"
)

// rotated is a cluster of processes, each with certificate files of its own.
type rotated struct {
	*testing.T
	dir   string
	names []string
	addrs []string
	nodes []*process
}

// file returns a file of a member.
func (r *rotated) file(name, suffix string) string { return filepath.Join(r.dir, name+suffix) }

func (r *rotated) write(path string, content []byte) {
	r.Helper()
	require.NoError(r, os.WriteFile(path+".new", content, 0o600))
	require.NoError(r, os.Rename(path+".new", path))
}

// issue replaces the certificate files of a holder.
func (r *rotated) issue(a *httpAuthority, name string, id tlsauth.Identity) tlsauth.Certificate {
	r.Helper()
	cert, key, err := tlsauth.Issue(a.cert, a.key, id, time.Hour)
	require.NoError(r, err)
	r.write(r.file(name, ".crt"), cert)
	r.write(r.file(name, ".key"), key)
	return tlsauth.Certificate{Cert: r.file(name, ".crt"), Key: r.file(name, ".key"), CA: r.file(name, ".ca")}
}

func (r *rotated) member(name string) tlsauth.Identity {
	return tlsauth.Identity{Cluster: "demo", Role: tlsauth.Member, Names: []string{name}}
}

// change changes the files of each member, and waits until all have read them.
func (r *rotated) change(of func(name string)) {
	r.Helper()
	for _, name := range r.names {
		of(name)
	}
	for _, p := range r.nodes {
		for !strings.Contains(p.stderr.line(r.T), "credentials reloaded") {
		}
	}
}

// client returns a client with a certificate of a. The client accepts the given authorities.
func (r *rotated) client(name string, a *httpAuthority, authorities []byte) client.Client {
	r.Helper()
	files := r.issue(a, name, tlsauth.Identity{Cluster: "demo", Role: tlsauth.Observer})
	r.write(files.CA, authorities)
	endpoint, err := tlsauth.New(tlsauth.Config{Cluster: "demo", TLS: files})
	require.NoError(r, err)
	return client.Client{Secure: endpoint}
}

// losses returns the numbers of elections and suspicions that each member has counted, and its leader.
func (r *rotated) losses(c client.Client) (counts map[string]uint64, leader string) {
	r.Helper()
	counts = make(map[string]uint64)
	for i, addr := range r.addrs {
		s, err := c.Status(within(r.T), addr)
		require.NoError(r, err)
		require.NotNil(r, s.Leader)
		leader += s.Leader.String() + " "
		for name, count := range s.Counters {
			if strings.HasPrefix(name, "elections.") || strings.HasPrefix(name, "suspicions.") {
				counts[r.names[i]+" "+name] = count
			}
		}
	}
	return counts, leader
}

// The authority of three processes is replaced, as docs/operations.md says. There is no election and no suspicion. A
// watcher with an old certificate is cut off within a minute.
func TestReplacedAuthorityCausesNoElection(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	r := &rotated{T: t, dir: t.TempDir(), names: []string{"n1", "n2", "n3"}}
	old, fresh := newHTTPAuthority(t), newHTTPAuthority(t)
	both := bytes.Join([][]byte{old.cert, fresh.cert}, nil)
	for range r.names {
		r.addrs = append(r.addrs, keptFree(t, r.addrs))
	}
	for i, name := range r.names {
		files := r.issue(old, name, r.member(name))
		r.write(files.CA, old.cert)
		p := launch(t, "node", "--cluster", "demo", "--name", name, "--listen", r.addrs[i], "--members", strings.Join(r.addrs, ","),
			"--data-dir", filepath.Join(r.dir, "data-"+name), "--preset", "wan", // long enough for a busy machine
			"--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", files.CA)
		r.nodes = append(r.nodes, p)
	}
	for _, p := range r.nodes {
		for line := ""; !strings.Contains(line, "following leader") && !strings.Contains(line, "became leader"); {
			line = p.stderr.line(t)
		}
	}
	late, observer := r.client("late", old, both), r.client("observer", fresh, both)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	states := make(chan client.State, 100)
	go func() {
		for s := range client.Watch(ctx, client.Config{Client: late, Addrs: r.addrs}) {
			states <- s
		}
	}()
	require.NoError(t, (<-states).Err)

	r.change(func(name string) { r.write(r.file(name, ".ca"), both) })
	before, leader := r.losses(observer)
	r.change(func(name string) { r.issue(fresh, name, r.member(name)) })
	r.change(func(name string) { r.write(r.file(name, ".ca"), fresh.cert) })
	began := time.Now()
	for s := range states {
		if s.Err != nil {
			require.ErrorContains(t, s.Err, "tls: bad certificate")
			break
		}
	}
	require.Less(t, time.Since(began), time.Minute)
	after, same := r.losses(observer)
	require.Equal(t, before, after)
	require.Equal(t, leader, same)
}
