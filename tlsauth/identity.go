package tlsauth

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/untrusted"
)

// Role is what a peer may do in a cluster.
type Role uint8

// The roles. A holder of the secret may be a member with any name, and may query and administer the cluster.
const (
	Unauthenticated Role = iota // has proved nothing
	Observer                    // may query the cluster
	Operator                    // may query and administer the cluster
	Member                      // may be a member with its name, and query the cluster
	SecretHolder
)

func (r Role) String() string {
	return [...]string{"unauthenticated", "observer", "operator", "member", "holder of the secret"}[min(r, SecretHolder)]
}

// Identity is what the other end of a connection has proved to be.
type Identity struct {
	Cluster string
	Role    Role
	// Names are the names that a member may have. They are empty for a holder of the secret: it may have any name.
	Names []string
	// Since and Until bound the time in which the certificates are valid that prove the identity. With a secret, both
	// are zero: a secret does not expire.
	Since, Until time.Time

	credential *credential // nil: none
}

// IsValid reports whether the proof of the identity is still valid.
func (id Identity) IsValid(now time.Time) bool { return id.Until.IsZero() || !now.After(id.Until) }

// AllowsName reports whether the peer may be a member with that name.
func (id Identity) AllowsName(name string) bool {
	return id.Role == SecretHolder && len(id.Names) == 0 || id.Role >= Member && slices.Contains(id.Names, name)
}

// CanAdminister reports whether the peer may administer the cluster, as an operator may.
func (id Identity) CanAdminister() bool { return id.Role == Operator || id.Role == SecretHolder }

// String returns the text for logs: "member n1", "operator".
func (id Identity) String() string {
	return strings.Join(append([]string{id.Role.String()}, id.Names...), " ")
}

// scheme is the scheme of the URIs in certificates.
const scheme = "elect"

// uri returns the URI that names the identity in a certificate.
func (id Identity) uri() *url.URL {
	path := "/" + id.Role.String()
	if id.Role == Member {
		path += "/" + strings.Join(id.Names, "")
	}
	return &url.URL{Scheme: scheme, Host: id.Cluster, Path: path}
}

// identityFromCert returns the identity that a certificate names. The certificate must be for cluster, unless that is
// empty.
func identityFromCert(c *x509.Certificate, cluster string) (Identity, error) {
	var found []Identity
	for _, u := range c.URIs {
		if u.Scheme != scheme {
			continue
		}
		id := Identity{Cluster: u.Host}
		switch parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/"); {
		case len(parts) == 1 && parts[0] == "operator":
			id.Role = Operator
		case len(parts) == 1 && parts[0] == "observer":
			id.Role = Observer
		case len(parts) == 2 && parts[0] == "member" && parts[1] != "":
			id.Role, id.Names = Member, parts[1:]
		default:
			return id, fmt.Errorf("it names %q, want elect://CLUSTER/member/NAME, …/operator or …/observer", u)
		}
		found = append(found, id)
	}
	switch {
	case len(found) > 1:
		return Identity{}, fmt.Errorf("it names %d of a cluster, want one", len(found))
	case len(found) == 1 && cluster != "" && found[0].Cluster != cluster:
		return Identity{}, fmt.Errorf("it is one of cluster %q, and this is %q", found[0].Cluster, cluster)
	case len(found) == 1:
		return found[0], nil
	case len(c.DNSNames) == 0:
		return Identity{}, fmt.Errorf("it names no member, want the URI elect://CLUSTER/member/NAME, or a name of DNS")
	}
	return Identity{Cluster: cluster, Role: Member, Names: c.DNSNames}, nil
}

// verify checks a chain of certificates for the given usage, and returns the identity of its holder.
func verify(chain []*x509.Certificate, authority *x509.CertPool, roots []*x509.Certificate, usage x509.ExtKeyUsage, cluster string) (Identity, error) {
	since, until, err := verifyChain(chain, authority, roots, usage)
	if err != nil {
		return Identity{}, err
	}
	id, err := identityFromCert(chain[0], cluster)
	if err != nil {
		return Identity{}, fmt.Errorf("certificate %s: %w", certTitle(chain[0]), err)
	}
	id.Since, id.Until = since, until
	return id, nil
}

// verifyChain checks that an authority has signed a chain of certificates, and that it is valid now for the given
// usage. It returns the time in which it is valid.
func verifyChain(chain []*x509.Certificate, authority *x509.CertPool, roots []*x509.Certificate, usage x509.ExtKeyUsage) (since, until time.Time, err error) {
	signed, err := signedChain(chain, roots)
	if err != nil {
		return since, until, fmt.Errorf("certificate %s: %w", fingerprint(chain[0]), err)
	}
	others := x509.NewCertPool()
	for _, c := range signed {
		others.AddCert(c)
	}
	paths, err := chain[0].Verify(x509.VerifyOptions{
		Roots: authority, Intermediates: others, CurrentTime: time.Now(), KeyUsages: []x509.ExtKeyUsage{usage},
	})
	if err != nil {
		return since, until, fmt.Errorf("certificate %s: %w", certTitle(chain[0]), err)
	}
	since, until = validity(paths)
	return since, until, nil
}

// validity returns the time in which a certificate and all its issuers are valid. Of several paths to an authority,
// the one that ends last counts.
func validity(paths [][]*x509.Certificate) (since, until time.Time) {
	for _, path := range paths {
		from, to := path[0].NotBefore, path[0].NotAfter
		for _, c := range path {
			if c.NotBefore.After(from) {
				from = c.NotBefore
			}
			if c.NotAfter.Before(to) {
				to = c.NotAfter
			}
		}
		if to.After(until) {
			since, until = from, to
		}
	}
	return since, until
}

// certTitle names a certificate in errors.
func certTitle(c *x509.Certificate) string {
	title := cmp.Or(c.Subject.CommonName, "serial "+c.SerialNumber.Text(16))
	if len(c.URIs) > 0 {
		title = c.URIs[0].String()
	}
	return untrusted.Printable(untrusted.Truncate(title, 128))
}
