package tlsauth

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
	"net"
	"net/url"
	"time"
)

// clockSkewAllowance is the time before its creation from which a certificate is valid, for clocks that are behind.
const clockSkewAllowance = time.Hour

// NewAuthority creates an authority for a trial or a test, and returns its certificate and key in PEM. The holder of
// the key can take any identity in the cluster.
func NewAuthority(cluster string, validity time.Duration) (cert, key []byte, err error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "elect " + cluster}, NotBefore: time.Now().Add(-clockSkewAllowance), NotAfter: time.Now().Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return signCert(template, nil, nil)
}

// Issue creates a certificate, signed by an authority of [NewAuthority], and returns it and its key in PEM. The
// identity is a member with one name, an operator, or an observer. The certificate does not outlive the authority.
//
// The hosts are names and addresses of a member, without ports. Nodes do not compare them with anything, but the
// clients of its HTTP server do.
func Issue(authority, authorityKey []byte, id Identity, validity time.Duration, hosts ...string) (cert, key []byte, err error) {
	pair, err := tls.X509KeyPair(authority, authorityKey)
	if err != nil {
		return nil, nil, fmt.Errorf("tlsauth: the authority: %w", err)
	}
	if !pair.Leaf.IsCA {
		return nil, nil, errors.New("tlsauth: the authority: its certificate is not that of an authority")
	}
	uses := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	switch {
	case id.Role == Member && len(id.Names) == 1:
		uses = append(uses, x509.ExtKeyUsageServerAuth)
	case id.Role != Operator && id.Role != Observer:
		return nil, nil, fmt.Errorf("tlsauth: a certificate for %q, want one member, an operator or an observer", id)
	}
	notAfter := time.Now().Add(validity)
	if notAfter.After(pair.Leaf.NotAfter) {
		notAfter = pair.Leaf.NotAfter
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: id.String()}, URIs: []*url.URL{id.uri()}, NotBefore: time.Now().Add(-clockSkewAllowance), NotAfter: notAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: uses,
	}
	for _, host := range hosts {
		if addr := net.ParseIP(host); addr != nil {
			template.IPAddresses = append(template.IPAddresses, addr)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return signCert(template, pair.Leaf, pair.PrivateKey)
}

// signCert creates a key and a certificate for it, which an authority signs; without one, the certificate is
// self-signed.
func signCert(template, authority *x509.Certificate, authorityKey any) (cert, key []byte, err error) {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if authority == nil {
		authority, authorityKey = template, pair
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, pair.Public(), authorityKey)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}

// ephemeral creates a self-signed certificate that proves nothing, because TLS requires one.
func ephemeral() (tls.Certificate, error) {
	cert, key, err := signCert(&x509.Certificate{NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}, nil, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}
