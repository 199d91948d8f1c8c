package secure

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/hostile"
)

// Role is what somebody may do in a cluster.
type Role uint8

// The roles. A holder of the secret may take part under any name, ask and give orders.
const (
	Nobody   Role = iota // nothing was proved
	Observer             // may ask
	Operator             // may ask, and give orders
	Member               // may take part under its name, and ask
	Holder               // of the secret
)

func (r Role) String() string {
	return [...]string{"nobody", "observer", "operator", "member", "holder of the secret"}[min(r, Holder)]
}

// Identity is who is at the other end of a connection, as it has proved.
type Identity struct {
	Cluster string
	Role    Role
	// Names are those under which it may take part; none for a holder of the secret: any.
	Names []string
	// Since and Until bound the time in which the certificates are valid that have proved this. With a secret
	// both are zero: it has no end.
	Since, Until time.Time
}

// IsValid reports whether what has proved the identity is still valid at a time.
func (id Identity) IsValid(at time.Time) bool { return id.Until.IsZero() || !at.After(id.Until) }

// MayBe reports whether it may take part under a name.
func (id Identity) MayBe(name string) bool {
	return id.Role == Holder && len(id.Names) == 0 || id.Role >= Member && slices.Contains(id.Names, name)
}

// MayOrder reports whether it may change something as an operator does.
func (id Identity) MayOrder() bool { return id.Role == Operator || id.Role == Holder }

// String is as logs have it: "member n1", "operator".
func (id Identity) String() string {
	return strings.Join(append([]string{id.Role.String()}, id.Names...), " ")
}

// scheme is that of the URIs in certificates.
const scheme = "elect"

// uri is how a certificate names somebody.
func (id Identity) uri() *url.URL {
	path := "/" + id.Role.String()
	if id.Role == Member {
		path += "/" + strings.Join(id.Names, "")
	}
	return &url.URL{Scheme: scheme, Host: id.Cluster, Path: path}
}

// named is who a certificate names, for a cluster or, if that is empty, for its own.
func named(c *x509.Certificate, cluster string) (Identity, error) {
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
		return Identity{}, fmt.Errorf("it names nobody, want the URI elect://CLUSTER/member/NAME, or a name of DNS")
	}
	return Identity{Cluster: cluster, Role: Member, Names: c.DNSNames}, nil
}

// verify finds out who shows a chain of certificates, and means to use it so.
func verify(chain []*x509.Certificate, authority *x509.CertPool, roots []*x509.Certificate, usage x509.ExtKeyUsage, cluster string) (Identity, error) {
	signed, err := signedChain(chain, roots)
	if err != nil {
		return Identity{}, fmt.Errorf("certificate %s: %w", fingerprint(chain[0]), err)
	}
	others := x509.NewCertPool()
	for _, c := range signed {
		others.AddCert(c)
	}
	paths, err := chain[0].Verify(x509.VerifyOptions{
		Roots: authority, Intermediates: others, CurrentTime: time.Now(), KeyUsages: []x509.ExtKeyUsage{usage},
	})
	if err != nil {
		return Identity{}, fmt.Errorf("certificate %s: %w", titleOf(chain[0]), err)
	}
	id, err := named(chain[0], cluster)
	if err != nil {
		return Identity{}, fmt.Errorf("certificate %s: %w", titleOf(chain[0]), err)
	}
	id.Since, id.Until = validity(paths)
	return id, nil
}

// validity returns the time in which a certificate is valid together with those that have signed it. Of several
// paths to an authority the one counts that ends last.
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

// titleOf is how errors call a certificate, whoever made it.
func titleOf(c *x509.Certificate) string {
	title := cmp.Or(c.Subject.CommonName, "serial "+c.SerialNumber.Text(16))
	if len(c.URIs) > 0 {
		title = c.URIs[0].String()
	}
	return hostile.Plain(hostile.Cut(title, 128))
}
