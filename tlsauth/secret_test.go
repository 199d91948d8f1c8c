package tlsauth

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func TestPeersWithSameSecretAuthenticate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		dialled, accepted := meet(t, holder(t, s), holder(t, s))
		require.NoError(t, dialled.err)
		require.NoError(t, accepted.err)
		want := Identity{Cluster: "demo", Role: SecretHolder}
		require.Equal(t, want, dialled.proved())
		require.Equal(t, want, accepted.proved())
		require.True(t, accepted.id.AllowsName("n1"))
		require.True(t, accepted.id.CanAdminister())
		talk(t, dialled, accepted)
	})
}

func TestPeerWithOtherSecretIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialled, accepted := meet(t, holder(t, NewSecret()), holder(t, NewSecret()))
		require.ErrorAs(t, dialled.err, new(*RejectedError))
		require.EqualError(t, dialled.err, "tlsauth: refused by the other side: it has not proved a secret that is believed here, for this cluster")
		require.EqualError(t, accepted.err, "tlsauth: it has not proved a secret that is believed here, for this cluster")
	})
}

// TestSecretOfOtherClusterIsRejected: two clusters with the same secret do not connect to each other.
func TestSecretOfOtherClusterIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		other := holder(t, s)
		other.files.Cluster = "other"
		dialled, accepted := meet(t, other, holder(t, s))
		require.Error(t, dialled.err)
		require.Error(t, accepted.err)
	})
}

// TestClientNeedsNoClusterName: a client with only the secret may send queries and admin requests, and is no member.
func TestClientNeedsNoClusterName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		asks := holder(t, s)
		asks.files.Cluster = ""
		dialled, accepted := meet(t, asks, holder(t, s))
		require.NoError(t, dialled.err)
		require.Equal(t, Identity{Cluster: "demo", Role: Operator}, accepted.proved())
		require.True(t, accepted.id.CanAdminister())
		require.False(t, accepted.id.AllowsName("n1"))
		talk(t, dialled, accepted)
	})
}

// TestListenerRevealsNothingBeforeProof: a listener answers only a proof, and rejects all others in the same way.
func TestListenerRevealsNothingBeforeProof(t *testing.T) {
	for name, said := range map[string][]byte{
		"no proof":       {kindCertified},
		"a wrong proof":  append([]byte{kindProved}, make([]byte, proofLen)...),
		"a strange byte": {0x91},
		"half a proof":   {kindProved, 1, 2, 3},
		"a refusal":      {kindRejected, 2, 'n', 'o'},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := pipe(t)
				var accepted end
				go func() { accepted = as(far, holder(t, NewSecret()).Server) }()
				a := attack(t, near, true)
				_, err := a.Write(said)
				require.NoError(t, err)
				heard := rest(a)
				synctest.Wait()
				require.Error(t, accepted.err)
				if len(heard) > 0 {
					require.Equal(t, "it has not proved a secret that is believed here, for this cluster", string(heard[2:]))
				}
			})
		})
	}
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := pipe(t)
			var accepted end
			go func() { accepted = as(far, holder(t, NewSecret()).Server) }()
			require.Empty(t, rest(attack(t, near, true)))
			synctest.Wait()
			require.ErrorIs(t, accepted.err, os.ErrDeadlineExceeded)
		})
	})
}

// TestDialerSendsOnlyProofToUnprovenListener: a dialer sends only its own proof before the listener has proved its
// identity.
func TestDialerSendsOnlyProofToUnprovenListener(t *testing.T) {
	for name, answer := range map[string]func(said []byte) []byte{
		"no proof":      func([]byte) []byte { return []byte{kindCertified} },
		"a wrong proof": func([]byte) []byte { return append([]byte{kindProved}, make([]byte, proofLen)...) },
		"its own proof": func(said []byte) []byte { return said },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := pipe(t)
				var dialled end
				go func() { dialled = as(near, holder(t, NewSecret()).Client) }()
				a := attack(t, far, false)
				said := make([]byte, 1+proofLen)
				_, err := io.ReadFull(a, said)
				require.NoError(t, err)
				_, err = a.Write(answer(said))
				require.NoError(t, err)
				require.Empty(t, rest(a))
				synctest.Wait()
				require.Error(t, dialled.err)
				require.Nil(t, dialled.Conn)
			})
		})
	}
}

// TestInterceptorIsRejected opens a channel to each side, and forwards all bytes between the two.
func TestInterceptorIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		near, toNear := pipe(t)
		far, toFar := pipe(t)
		var dialled, accepted end
		go func() { dialled = as(near, holder(t, s).Client) }()
		go func() { accepted = as(far, holder(t, s).Server) }()
		listens, dials := attack(t, toNear, false), attack(t, toFar, true)
		require.NotEqual(t, listens.material, dials.material)
		go func() { _, _ = io.Copy(dials, listens) }()
		heard := make(chan []byte, 1)
		go func() {
			said := rest(dials)
			_, _ = listens.Write(said)
			heard <- said
		}()
		synctest.Wait()
		require.Error(t, accepted.err)
		require.Error(t, dialled.err)
		require.NotContains(t, string(<-heard), "hello")
	})
}

// TestReplayedProofIsRejected sends a proof that it received in one channel in another channel.
func TestReplayedProofIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		near, far := pipe(t)
		go as(near, holder(t, s).Client)
		overheard := make([]byte, 1+proofLen)
		_, err := io.ReadFull(attack(t, far, false), overheard)
		require.NoError(t, err)

		near, far = pipe(t)
		var accepted end
		go func() { accepted = as(far, holder(t, s).Server) }()
		a := attack(t, near, true)
		_, err = a.Write(overheard)
		require.NoError(t, err)
		require.EqualValues(t, kindRejected, rest(a)[0])
		synctest.Wait()
		require.Error(t, accepted.err)
	})
}

// TestPlainTextIsRejected: neither side falls back to plain text.
func TestPlainTextIsRejected(t *testing.T) {
	t.Run("dialer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := pipe(t)
			var accepted end
			go func() { accepted = as(far, holder(t, NewSecret()).Server) }()
			_, _ = near.Write([]byte{0, 0, 0, 9, 0x94})
			require.Empty(t, rest(near))
			synctest.Wait()
			require.ErrorIs(t, accepted.err, ErrPlain)
			require.ErrorContains(t, accepted.err, "--secret-file FILE")
		})
	})
	t.Run("listener", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := pipe(t)
			var dialled end
			go func() { dialled = as(near, holder(t, NewSecret()).Client) }()
			_, err := io.ReadFull(far, make([]byte, 4))
			require.NoError(t, err)
			go func() {
				_, _ = far.Write([]byte{0, 0, 0, 14, 0, 'p', 'r', 'o', 't', 'o', 'c', 'o', 'l', ' ', 'e', 'r', 'r', '.'})
			}()
			all := rest(far)
			synctest.Wait()
			require.ErrorIs(t, dialled.err, ErrPlain)
			require.NotContains(t, string(all), "hello")
		})
	})
}

// TestWeakerChannelIsRejected: a peer with TLS 1.2 or another protocol is rejected, even if it knows the secret.
func TestWeakerChannelIsRejected(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*attackConfig)
		in     bool
	}{
		"as we do":         {func(*attackConfig) {}, true},
		"TLS 1.2":          {func(c *attackConfig) { c.MinVersion, c.MaxVersion = 0x0303, 0x0303 }, false},
		"another protocol": {func(c *attackConfig) { c.NextProtos = []string{"h2"} }, false},
		"no protocol":      {func(c *attackConfig) { c.NextProtos = nil }, false},
		"no certificate":   {func(c *attackConfig) { c.Certificates = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := pipe(t)
				listens := holder(t, NewSecret())
				var accepted end
				go func() { accepted = as(far, listens.Server) }()
				tlsAttack(t, near, listens.files.keys.secrets[0], test.change)
				synctest.Wait()
				require.Equal(t, test.in, accepted.err == nil, "%v", accepted.err)
			})
		})
	}
}

// TestNetworkErrorIsKept: the end of a connection without a message is evidence, and must not look like a rejection.
func TestNetworkErrorIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := pipe(t)
		go func() {
			_, _ = io.ReadFull(far, make([]byte, 10))
			far.Close()
		}()
		require.ErrorIs(t, as(near, holder(t, NewSecret()).Client).err, io.ErrClosedPipe)

		near, far = pipe(t)
		near.Close()
		require.ErrorIs(t, as(far, holder(t, NewSecret()).Server).err, io.EOF)
	})
}

// TestSecretIsRotatedWithoutRestart: all endpoints accept the new secret, then all use it, then the old one is removed.
func TestSecretIsRotatedWithoutRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := NewSecret(), NewSecret()
		a, b := holder(t, old), holder(t, old)
		first, _ := meet(t, a, b)
		require.NoError(t, first.err)
		for _, step := range [][]string{{old, fresh}, {fresh, old}, {fresh}} {
			for _, e := range []*Endpoint{a, b} {
				write(t, e.files.SecretFile, step...)
				testkit.Advance(recheckInterval)
				for _, ends := range [][2]*Endpoint{{a, b}, {b, a}} {
					dialled, accepted := meet(t, ends[0], ends[1])
					require.NoError(t, dialled.err, "%v", len(step))
					require.NoError(t, accepted.err)
				}
			}
		}
		dialled, _ := meet(t, holder(t, old), b)
		require.ErrorAs(t, dialled.err, new(*RejectedError), "the old one is not believed any more")
	})
}

// TestFileIsCheckedOncePerSecond: unauthenticated peers cannot cause more checks.
func TestFileIsCheckedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := holder(t, NewSecret())
		fresh := NewSecret()
		write(t, e.files.SecretFile, fresh)
		require.NotEqual(t, fresh, e.files.current().secrets[0].text())
		testkit.Advance(recheckInterval)
		require.Equal(t, fresh, e.files.current().secrets[0].text())
	})
}

func TestSecretFileSyntax(t *testing.T) {
	s, other := NewSecret(), NewSecret()
	typo := []byte(s)
	typo[20] ^= 1 // one letter for its neighbour
	if bytes.ContainsAny(typo[20:21], "`@[{/:^,") {
		typo[20] = 'x'
	}
	for _, test := range []struct {
		name, text, wrong string
		want              int
	}{
		{name: "one", text: s + "\n", want: 1},
		{name: "without an end of line", text: s, want: 1},
		{name: "two", text: s + "\n" + other + "\n", want: 2},
		{name: "from Windows", text: "\uFEFF" + s + "\r\n\r\n" + other + "\r\n", want: 2},
		{name: "comments", text: "# since May\n\n  " + s + "  # the new one\n" + other + "\n", want: 2},
		{name: "empty", text: "", wrong: "it is empty"},
		{name: "blank", text: " \n\r\n", wrong: "it is empty"},
		{name: "only a comment", text: "# none yet\n", wrong: "it holds no secret; 'elect secret' prints one"},
		{name: "a typo", text: "\n" + string(typo) + "\n", wrong: "line 2: it has a typo: its last characters do not fit the rest"},
		{name: "cut", text: s[:30], wrong: "line 1: 23 characters follow elect1_, want 48: it is cut, or two lines are one"},
		{name: "two on one line", text: s + s, wrong: "line 1: 103 characters follow elect1_, want 48: it is cut, or two lines are one"},
		{name: "a password", text: "hunter2", wrong: "line 1: it does not begin with elect1_, as what 'elect secret' prints"},
		{name: "another letter", text: s[:20] + "é" + s[22:], wrong: "line 1: a character in it is none of A to Z, a to z, 0 to 9, - and _"},
		{name: "many", text: strings.Repeat(s+"\n", 17), wrong: "it holds 17 secrets, want at most 16"},
		{name: "a log", text: strings.Repeat("x", maxFile+1), wrong: "it has more than 256 KiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(path, []byte(test.text), 0o600))
			e, err := New(Config{Cluster: "demo", SecretFile: path})
			if test.wrong != "" {
				require.EqualError(t, err, fmt.Sprintf("secret_file is %q, want a file that can be used (%s)", path, test.wrong))
				return
			}
			require.NoError(t, err)
			require.Len(t, e.files.keys.secrets, test.want)
			require.Equal(t, s, e.files.keys.secrets[0].text())
		})
	}
}

func TestTypoInSecretIsFound(t *testing.T) {
	s := NewSecret()
	for i := range s {
		for _, c := range []byte("A0_z") {
			typo := []byte(s)
			if typo[i] == c {
				continue
			}
			typo[i] = c
			_, wrong := parseSecret(string(typo))
			require.NotEmpty(t, wrong, "%s", typo)
			require.NotContains(t, wrong, s[8:20], "a secret is not shown")
		}
	}
}

func TestFileProblemsAreReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	_, err := New(Config{SecretFile: path})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, strconv.Quote(path))
	_, err = New(Config{SecretFile: t.TempDir()})
	require.ErrorContains(t, err, "it is a directory, want a regular file")
	_, err = New(Config{})
	require.EqualError(t, err, "secret_file is empty, want a file, or tls")
	_, err = New(Config{TLS: Certificate{CA: "ca.crt", Cert: "n1.crt"}})
	require.EqualError(t, err, "tls is not whole, want all of cert, key and ca")
	_, err = New(Config{TLS: Certificate{CA: "ca.crt", Cert: "n1.crt", Key: "n1.key"}, SecretFile: "secret"})
	require.ErrorContains(t, err, "tls is set beside secret_file, want one of the two, or security: migrate")
}

// TestStalledHandshakesDelayNoPeer: each handshake has its own deadline, and delays no other one.
func TestStalledHandshakesDelayNoPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		listens := holder(t, s)
		ended := make(chan error, 500)
		for i := range cap(ended) {
			near, far := pipe(t)
			go func() { ended <- as(far, listens.Server).err }()
			_, err := near.Write([]byte{handshake, 3, 1, 0, 200}[:1+i%5])
			require.NoError(t, err)
		}
		synctest.Wait()
		dialled, accepted := meet(t, holder(t, s), listens)
		require.NoError(t, dialled.err)
		require.NoError(t, accepted.err)
		talk(t, dialled, accepted)
		for range cap(ended) {
			require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
		}
	})
}

// TestCloseDoesNotWait: Close of a TLS connection would first send an alert to a peer that may not read.
func TestCloseDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		dialled, accepted := meet(t, holder(t, s), holder(t, s))
		began := time.Now()
		require.NoError(t, dialled.Close())
		require.Zero(t, time.Since(began))
		_, err := accepted.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}

// TestReadContinuesAfterDeadline: a transport moves deadlines all the time.
func TestReadContinuesAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSecret()
		dialled, accepted := meet(t, holder(t, s), holder(t, s))
		require.NoError(t, accepted.SetReadDeadline(time.Now().Add(time.Second)))
		_, err := accepted.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, accepted.SetReadDeadline(time.Time{}))
		talk(t, dialled, accepted)
	})
}

var _ net.Conn = tlsConn{}
