package secure

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// early is for how long before now a certificate holds, for clocks that are behind.
const early = time.Hour

// NewAuthority makes an authority for a trial and for tests, as its certificate and its key in PEM: who has the key
// is anybody in the cluster. It holds for so long.
func NewAuthority(cluster string, life time.Duration) (cert, key []byte, err error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "elect " + cluster}, NotBefore: time.Now().Add(-early), NotAfter: time.Now().Add(life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return signed(template, nil, nil)
}

// Issue makes a certificate of an authority, which NewAuthority has made, and its key, in PEM: for a member, of which the
// first name counts, an operator or an observer of a cluster. It holds for so long, and never longer
// than the authority.
func Issue(authority, authorityKey []byte, id Identity, life time.Duration) (cert, key []byte, err error) {
	pair, err := tls.X509KeyPair(authority, authorityKey)
	if err != nil {
		return nil, nil, fmt.Errorf("secure: the authority: %w", err)
	}
	if !pair.Leaf.IsCA {
		return nil, nil, errors.New("secure: the authority: its certificate is not that of an authority")
	}
	uses := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	switch {
	case id.Role == Member && len(id.Names) == 1:
		uses = append(uses, x509.ExtKeyUsageServerAuth)
	case id.Role != Operator && id.Role != Observer:
		return nil, nil, fmt.Errorf("secure: a certificate for %q, want one member, an operator or an observer", id)
	}
	until := time.Now().Add(life)
	if until.After(pair.Leaf.NotAfter) {
		until = pair.Leaf.NotAfter
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: id.String()}, URIs: []*url.URL{id.uri()}, NotBefore: time.Now().Add(-early), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: uses,
	}
	return signed(template, pair.Leaf, pair.PrivateKey)
}

// signed makes a key, and a certificate for it that an authority signs; without one it signs itself.
func signed(template, authority *x509.Certificate, by any) (cert, key []byte, err error) {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if authority == nil {
		authority, by = template, pair
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, pair.Public(), by)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}

// ephemeral makes a certificate that proves nothing: TLS wants one.
func ephemeral() (tls.Certificate, error) {
	cert, key, err := signed(&x509.Certificate{NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}, nil, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}
