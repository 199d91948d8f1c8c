package tlsauth

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// credential is what authenticated a connection: the shared secret, or a certificate of each side.
type credential struct {
	secret [sha256.Size]byte // hash of the secret, which must not be in a log; zero: the certificates
	own    []byte            // certificate of this side, in DER
	chain  []*x509.Certificate
	usage  x509.ExtKeyUsage // of chain
}

func (s secret) credential() *credential { return &credential{secret: sha256.Sum256(s[:])} }

// certifiedIdentity returns id with its credential: the chain of the other side, and the certificate that this side has
// shown.
func (k keys) certifiedIdentity(id Identity, chain []*x509.Certificate, usage x509.ExtKeyUsage) Identity {
	id.credential = &credential{own: k.own.Certificate[0], chain: chain, usage: usage}
	return id
}

// The reasons of Check for credentials of this side.
var (
	errSecretRemoved  = errors.New("its secret is no longer in the file")
	errOwnCertificate = errors.New("this side has another certificate now")
)

// Version returns a number that changes with the content of the files. It checks the files as a new connection does.
func (e *Endpoint) Version() uint64 { return e.files.current().version }

// Check returns the reason why a connection could not be made with the present files as it was made, or nil: its secret
// was removed, the certificate of this side was replaced, or that of the other side is no longer accepted. The proved
// identity is an [Identity] that this endpoint has returned. Any other value stands for an unauthenticated peer, and is
// accepted. So an endpoint has the methods that package transport needs: Version and Check.
func (e *Endpoint) Check(proved any) error {
	id, _ := proved.(Identity)
	if err := e.files.current().recheck(id.credential); err != nil {
		return fmt.Errorf("tlsauth: %w", err)
	}
	return nil
}

func (k keys) recheck(c *credential) error {
	switch {
	case c == nil:
		return nil
	case c.own != nil:
		_, _, err := verifyChain(c.chain, k.authority, k.roots, c.usage)
		if err == nil && !bytes.Equal(c.own, k.own.Certificate[0]) {
			err = errOwnCertificate
		}
		return err
	case !slices.ContainsFunc(k.secrets, func(s secret) bool { return sha256.Sum256(s[:]) == c.secret }):
		return errSecretRemoved
	}
	return nil
}
