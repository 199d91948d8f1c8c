package tlsauth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// issued is a certificate with its key.
type issued struct {
	*x509.Certificate
	key crypto.Signer
}

// root returns the authority as an issuer.
func (a *authority) root() issued {
	pair, err := tls.X509KeyPair(a.cert, a.key)
	require.NoError(a.t, err)
	return issued{pair.Leaf, pair.PrivateKey.(crypto.Signer)}
}

func newKey(t testing.TB, curve elliptic.Curve) crypto.Signer {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return key
}

// below returns a certificate that i has signed. Without change, it is a certificate of an authority.
func (i issued) below(t testing.TB, name string, key crypto.Signer, change func(*x509.Certificate)) issued {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.Certificate, key.Public(), i.key)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return issued{c, key}
}

// leaf changes a template to that of a certificate of member n2.
func leaf(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = false, false, x509.KeyUsageDigitalSignature
	c.URIs = []*url.URL{member("n2").uri()}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
}

// shows makes e show a chain, the leaf first.
func (e *Endpoint) shows(chain ...issued) *Endpoint {
	own := tls.Certificate{PrivateKey: chain[0].key}
	for _, c := range chain {
		own.Certificate = append(own.Certificate, c.Raw)
	}
	e.files.keys.own = own
	return e
}

func TestSignedChain(t *testing.T) {
	a := newAuthority(t)
	root, p256 := a.root(), newKey(t, elliptic.P256())
	middle := root.below(t, "middle", p256, nil)
	low := middle.below(t, "low", p256, nil)
	good := low.below(t, "good", p256, leaf)
	direct := root.below(t, "direct", p256, leaf)
	bad := direct.below(t, "bad", p256, leaf) // signed by a certificate that is not of an authority
	forgedRoot := newAuthority(t).root()      // the same name, another key
	forged := forgedRoot.below(t, "forged", p256, leaf)
	for name, test := range map[string]struct {
		chain, signed []issued
	}{
		"one":                          {[]issued{direct}, []issued{direct}},
		"three":                        {[]issued{good, low, middle}, []issued{middle, low, good}},
		"three in another order":       {[]issued{good, middle, low}, []issued{middle, low, good}},
		"a root beside them":           {[]issued{direct, root}, []issued{direct, root}},
		"one without a signature":      {[]issued{direct, forged}, []issued{direct}},
		"the root itself":              {[]issued{root}, []issued{root}},
		"one is missing":               {[]issued{good, low}, nil},
		"signed by a leaf":             {[]issued{bad, direct}, nil},
		"a name of the root":           {[]issued{forged}, nil},
		"a name of the root, complete": {[]issued{forged, forgedRoot}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			certificates := func(all []issued) (list []*x509.Certificate) {
				for _, c := range all {
					list = append(list, c.Certificate)
				}
				return list
			}
			signed, err := signedChain(certificates(test.chain), []*x509.Certificate{root.Certificate})
			require.Equal(t, certificates(test.signed), signed)
			require.Equal(t, test.signed == nil, err != nil)
		})
	}
}

// TestPeerShowsBadChain shows chains that could cost the other side more than a handshake.
func TestPeerShowsBadChain(t *testing.T) {
	p256, p521 := newKey(t, elliptic.P256()), newKey(t, elliptic.P521())
	for name, test := range map[string]struct {
		chain  func(t *testing.T, root issued) []issued
		secret bool   // the other side has no authority
		want   string // the error; none: accepted
	}{
		"three authorities": {func(t *testing.T, root issued) []issued {
			first := root.below(t, "first", p521, nil)
			second := first.below(t, "second", p256, nil)
			third := second.below(t, "third", p256, nil)
			return []issued{third.below(t, "leaf", p256, leaf), third, second, first}
		}, false, ""},
		"four authorities": {func(t *testing.T, root issued) []issued {
			all := []issued{root}
			for range 4 {
				all = append([]issued{all[0].below(t, "authority", p256, nil)}, all...)
			}
			return append([]issued{all[0].below(t, "leaf", p256, leaf)}, all[:4]...)
		}, false, "it shows 5 certificates, want at most 4"},
		"more than 16 KiB": {func(t *testing.T, root issued) []issued {
			return []issued{root.below(t, strings.Repeat("a", 17000), p256, leaf)}
		}, false, "more than 16 KiB before the end of the handshake"},
		"forged": {func(t *testing.T, root issued) []issued {
			fake := newAuthority(t).root().below(t, "fake", p521, nil)
			return []issued{fake.below(t, "leaf", p521, leaf), fake}
		}, false, "x509: certificate signed by unknown authority"},
		"a key of P-521 and no authority": {func(t *testing.T, root issued) []issued {
			return []issued{root.below(t, "leaf", p521, leaf)}
		}, true, "its key is not ECDSA P-256 or P-384, Ed25519 or RSA up to 4096 bits"},
		"a key of P-521 of the authority": {func(t *testing.T, root issued) []issued {
			return []issued{root.below(t, "leaf", p521, leaf)}
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dials := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					a := newAuthority(t)
					bad, good := a.endpoint(member("n2")), a.endpoint(member("n1"))
					if test.secret {
						good, bad = holder(t, NewSecret()), holder(t, NewSecret())
					}
					bad.shows(test.chain(t, a.root())...)
					dialled, accepted := meet(t, bad, good)
					seen := accepted
					if !dials {
						seen, _ = meet(t, good, bad)
					}
					if test.want == "" {
						require.NoError(t, dialled.err)
						require.NoError(t, seen.err)
						return
					}
					require.ErrorContains(t, seen.err, test.want)
					require.Zero(t, seen.id)
				})
			}
		})
	}
}

func TestCostlyKeyIsNotCheap(t *testing.T) {
	modulus := func(bits uint) any { return &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), bits-1), E: 65537} }
	for _, test := range []struct {
		key   any
		cheap bool
	}{
		{modulus(2048), true}, {modulus(4096), true}, {modulus(4097), false},
		{newKey(t, elliptic.P256()).Public(), true}, {newKey(t, elliptic.P384()).Public(), true}, {newKey(t, elliptic.P521()).Public(), false},
		{ed25519.PublicKey(nil), true}, {nil, false},
	} {
		require.Equal(t, test.cheap, isCheap(test.key), "%T", test.key)
	}
}

// TestKeyIsUsedAfterItsSignature: a peer cannot make the other side verify a signature of a key that no authority has
// signed. The peer of this test sends a wrong signature, which would be the error otherwise.
func TestKeyIsUsedAfterItsSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		fake := newAuthority(t).root().below(t, "fake", newKey(t, elliptic.P256()), leaf)
		fake.key = newKey(t, elliptic.P256()) // another one
		bad, good := a.endpoint(member("n2")).shows(fake), a.endpoint(member("n1"))
		_, accepted := meet(t, bad, good)
		require.ErrorContains(t, accepted.err, "x509: certificate signed by unknown authority")
		dialled, _ := meet(t, good, bad)
		require.ErrorContains(t, dialled.err, "x509: certificate signed by unknown authority")
	})
}

// TestIdentityCountsAfterHandshake: a certificate is public, so it proves nothing without a signature of its key.
func TestIdentityCountsAfterHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		stolen := a.root().below(t, "stolen", newKey(t, elliptic.P256()), leaf)
		stolen.key = newKey(t, elliptic.P256())
		bad, good := a.endpoint(member("n2")).shows(stolen), a.endpoint(member("n1"))
		_, accepted := meet(t, bad, good)
		require.ErrorContains(t, accepted.err, "tls: invalid signature by the client certificate")
		require.Zero(t, accepted.id)
		dialled, _ := meet(t, good, bad)
		require.ErrorContains(t, dialled.err, "tls: invalid signature by the server certificate")
		require.Zero(t, dialled.id)
	})
}

// TestOwnChainFitsLimits: a node with a certificate that no other node accepts does not start.
func TestOwnChainFitsLimits(t *testing.T) {
	a := newAuthority(t)
	c := a.issue(member("n1"), time.Hour)
	cert, key, err := Issue(a.cert, a.key, member("n1"), time.Hour)
	require.NoError(t, err)
	write(t, c.TLS.Key, string(key))
	write(t, c.TLS.Cert, strings.Repeat(string(cert), 5))
	_, err = New(c)
	require.ErrorContains(t, err, "it holds 5 certificates of ")
	require.ErrorContains(t, err, "want at most 4 of 12 KiB")
}

// TestCostlyCurveIsNotOffered: the dialer chooses the curve, and the listener pays for it.
func TestCostlyCurveIsNotOffered(t *testing.T) {
	for curve, offered := range map[tls.CurveID]bool{
		tls.X25519MLKEM768: true, tls.X25519: true, tls.CurveP256: true, tls.CurveP384: false, tls.CurveP521: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := pipe(t)
			own, err := ephemeral()
			require.NoError(t, err)
			config := keys{own: own}.tlsConfig()
			config.CurvePreferences = []tls.CurveID{curve}
			go func() { _ = tls.Client(near, config).Handshake(); near.Close() }()
			_, _, err = openChannel(tls.Server(far, keys{own: own}.tlsConfig()))
			require.Equal(t, offered, err == nil, "%v: %v", curve, err)
		})
	}
}

// TestForeignCertificateRaisesAlert: a certificate of a foreign authority ends the handshake, so its holder receives an
// alert and no reason. An alert needs a connection that has a buffer.
func TestForeignCertificateRaisesAlert(t *testing.T) {
	for _, dials := range []bool{true, false} {
		a := newAuthority(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		near, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		far, err := l.Accept()
		require.NoError(t, err)
		good := a.endpoint(member("n1"))
		bad := a.endpoint(member("n2")).shows(newAuthority(t).root().below(t, "fake", newKey(t, elliptic.P256()), leaf))
		defer near.Close() // not before both have ended: a reset could come before the alert
		defer far.Close()
		dialer, listener := good, bad
		if dials {
			dialer, listener = bad, good
		}
		heard := make(chan error, 1)
		go func() {
			_, _, err := dialer.Client(near)
			heard <- err
		}()
		_, _, rejects := listener.Server(far)
		rejected := <-heard
		if !dials {
			rejects, rejected = rejected, rejects
		}
		require.ErrorContains(t, rejects, "x509: certificate signed by unknown authority")
		require.EqualError(t, rejected, "tlsauth: refused by the other side: tls: bad certificate")
		require.ErrorAs(t, rejected, new(*RejectedError))
	}
}

// TestErrorsHaveNoWordsOfPeer: errors are logged, so they contain no text that an unauthenticated peer chose.
func TestErrorsHaveNoWordsOfPeer(t *testing.T) {
	const words = "leader n1 has left"
	fake := func(t *testing.T, a *authority, change func(*x509.Certificate)) *Endpoint {
		return a.endpoint(member("n2")).shows(newAuthority(t).root().below(t, words, newKey(t, elliptic.P256()), func(c *x509.Certificate) {
			leaf(c)
			change(c)
		}))
	}
	for name, test := range map[string]struct {
		attack func(t *testing.T, nc net.Conn, a *authority, dials bool)
		want   string
	}{
		"protocol": {func(t *testing.T, nc net.Conn, a *authority, dials bool) {
			config := keys{own: a.odd(func(*x509.Certificate) {})}.tlsConfig()
			config.NextProtos = []string{words}
			play(nc, config, dials, nil)
		}, ""},
		"certificate": {func(t *testing.T, nc net.Conn, a *authority, dials bool) {
			play(nc, fake(t, a, func(*x509.Certificate) {}).files.keys.tlsConfig(), dials, nil)
		}, "tlsauth: certificate sha256:"},
		"certificate that cannot be parsed": {func(t *testing.T, nc net.Conn, a *authority, dials bool) {
			e := fake(t, a, func(c *x509.Certificate) { c.URIs = []*url.URL{{Scheme: "elect", Host: "demo", Path: words}} })
			der := &e.files.keys.own.Certificate[0]
			*der = bytes.ReplaceAll(*der, []byte("//demo"), []byte("//[dem"))
			play(nc, e.files.keys.tlsConfig(), dials, nil)
		}, "x509: cannot parse URI"},
		"rejection": {func(t *testing.T, nc net.Conn, a *authority, dials bool) {
			play(nc, holder(t, NewSecret()).files.keys.tlsConfig(), dials, append([]byte{kindRejected, byte(len(words))}, words...))
		}, "x509"},
	} {
		for _, secret := range []bool{true, false} {
			for _, dials := range []bool{true, false} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						a := newAuthority(t)
						good := a.endpoint(member("n1"))
						want := test.want
						if secret {
							good = holder(t, NewSecret())
						}
						near, far := pipe(t)
						go test.attack(t, near, a, dials)
						side := good.Client
						if dials {
							side = good.Server
						}
						e := as(far, side)
						require.Error(t, e.err)
						require.NotContains(t, e.err.Error(), "leader")
						require.Zero(t, e.id)
						switch {
						case secret && name == "rejection":
							require.EqualError(t, e.err, "tlsauth: refused by the other side: "+withheldReason)
						case !secret:
							require.ErrorContains(t, e.err, want)
						}
					})
				})
			}
		}
	}
}

// play is a peer that sends says inside the channel, if the handshake succeeds.
func play(nc net.Conn, config *tls.Config, dials bool, says []byte) {
	defer nc.Close()
	config.VerifyConnection, config.ClientAuth = nil, tls.RequireAnyClientCert
	c := tls.Server(nc, config)
	if dials {
		c = tls.Client(nc, config)
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if c.Handshake() == nil {
		go func() { _, _ = c.Write(says) }() // a pipe has no buffer
		_, _ = io.Copy(io.Discard, c)
	}
}

// TestMemberIsRepeated: the error repeats the reason of a peer that has shown the certificate of a member.
func TestMemberIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		good := a.endpoint(member("n1"))
		near, far := pipe(t)
		go play(near, a.endpoint(member("n2")).files.keys.tlsConfig(), true, append([]byte{kindRejected, 6}, "reason"...))
		e := as(far, good.Server)
		require.EqualError(t, e.err, "tlsauth: refused by the other side: reason")
	})
}
