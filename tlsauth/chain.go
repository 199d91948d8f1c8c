package tlsauth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// Limits for chains of certificates. They bound the work that a peer without credentials can cause.
const (
	maxChain      = 4        // certificates
	maxChainBytes = 12 << 10 // leaves room for the rest of a handshake, see maxHandshake
	maxRSA        = 4096     // bits of a key that no authority has signed
)

// checkChain runs within the handshake, before TLS uses the key of the first certificate. A key that the authority
// has not signed is accepted only where a secret suffices, and only if the key is cheap.
func (k keys) checkChain(chain []*x509.Certificate) error {
	if len(chain) > maxChain {
		return fmt.Errorf("it shows %d certificates, want at most %d", len(chain), maxChain)
	}
	_, err := signedChain(chain, k.roots)
	if err != nil && (k.authority == nil || len(k.secrets) > 0) {
		err = nil
		if !isCheap(chain[0].PublicKey) {
			err = errCostlyKey
		}
	}
	if err != nil {
		return fmt.Errorf("certificate %s: %w", fingerprint(chain[0]), err)
	}
	return nil
}

var errCostlyKey = errors.New("its key is not ECDSA P-256 or P-384, Ed25519 or RSA up to 4096 bits")

// isCheap reports whether verifying a signature of key costs less than the rest of a handshake.
func isCheap(key any) bool {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return key.Curve == elliptic.P256() || key.Curve == elliptic.P384()
	case *rsa.PublicKey:
		return key.N.BitLen() <= maxRSA
	case ed25519.PublicKey:
		return true
	}
	return false
}

// signedChain returns the certificates of chain that roots have signed, directly or through each other. It fails if
// the first certificate of chain is not among them. It starts at the roots, so it uses no key that is not signed
// itself.
func signedChain(chain, roots []*x509.Certificate) (signed []*x509.Certificate, err error) {
	issuers, unsigned := slices.Clone(roots), slices.Clone(chain)
	for len(unsigned) > 0 {
		i := slices.IndexFunc(unsigned, func(c *x509.Certificate) bool { return isSigned(c, issuers) })
		if i < 0 {
			break
		}
		signed, issuers = append(signed, unsigned[i]), append(issuers, unsigned[i])
		unsigned = slices.Delete(unsigned, i, i+1)
	}
	if !slices.Contains(signed, chain[0]) {
		return nil, x509.UnknownAuthorityError{Cert: chain[0]}
	}
	return signed, nil
}

func isSigned(c *x509.Certificate, issuers []*x509.Certificate) bool {
	return slices.ContainsFunc(issuers, func(issuer *x509.Certificate) bool {
		return c.Equal(issuer) || bytes.Equal(c.RawIssuer, issuer.RawSubject) && c.CheckSignatureFrom(issuer) == nil
	})
}

// fingerprint names a certificate without the text in it, which the peer has chosen.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return fmt.Sprintf("sha256:%x", sum[:8])
}
