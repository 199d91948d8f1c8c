package cluster

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/transport"
)

// securityHelp is the requirement for a node with an address that other machines can reach.
const securityHelp = "an address of the loopback, or secret_file: FILE (elect secret FILE creates one, the same for all members), " +
	"or tls: {cert: FILE, key: FILE, ca: FILE}; or insecure: true, which lets any host join and administer the cluster"

// migrate is the value of Config.Security during a change of the authentication.
const migrate = "migrate"

// newEndpoint returns the endpoint that authenticates peers, or the errors of its settings. It is nil if the node
// listens on the loopback or on a custom network, or is insecure by its settings.
func (c *Config) newEndpoint() (*tlsauth.Endpoint, error) {
	wrong := func(field, got, want string) error { return &algo.SettingError{Field: field, Got: got, Want: want} }
	closed := c.SecretFile != "" || c.TLS != tlsauth.Certificate{}
	switch {
	case c.Security != "" && (c.Security != migrate || !closed):
		return nil, wrong("security", strconv.Quote(c.Security), migrate+", beside secret_file or tls, or nothing")
	case closed && c.Insecure:
		return nil, wrong("insecure", "true beside secret_file or tls", "one of them, or security: migrate while a cluster goes from the one to the other")
	case !closed && c.Network.Listen == nil && !c.Insecure && !c.AllowTextbook && checkAddr(c.Listen, false) == nil && !isLoopback(c.Listen):
		return nil, wrong("listen", strconv.Quote(c.Listen), securityHelp)
	case !closed:
		return nil, nil
	}
	return tlsauth.New(tlsauth.Config{
		Cluster: c.Cluster, Member: c.Name, SecretFile: c.SecretFile, TLS: c.TLS, Migrate: c.Security == migrate, Log: c.Logger,
	})
}

// checkListenAddr logs at each start which unauthenticated peers are accepted. It returns an error if a custom listener
// has an address that other hosts can reach.
func (n *Node) checkListenAddr(l net.Listener) error {
	addr, ok := l.Addr().(*net.TCPAddr)
	switch {
	case n.config.Security == migrate:
		n.log.Warn("security migration: the previous authentication is still accepted")
	case n.endpoint != nil:
	case n.config.Insecure:
		n.log.Warn("insecure: any host that reaches this node can join and administer it")
	case ok && !addr.IP.IsLoopback():
		return &algo.SettingError{Field: "listen", Got: strconv.Quote(addr.String()), Want: securityHelp}
	}
	n.local = l.Addr()
	return nil
}

// secureConn authenticates a connection. A peer that sends plain text receives a plain-text error.
func (n *Node) secureConn(c net.Conn, dialed bool) (net.Conn, any, error) {
	side := n.endpoint.Server
	if dialed {
		side = n.endpoint.Client
	}
	safe, id, err := side(c)
	oneWay := n.config.SecretFile == "" || n.config.TLS == tlsauth.Certificate{}
	if dialed && oneWay && n.config.Security == migrate && errors.Is(err, tlsauth.ErrPlain) {
		err = transport.ErrPlain
	}
	if id.Role == tlsauth.Unauthenticated {
		return safe, nil, err
	}
	return safe, id, err
}

// localUser is the proof of a peer on the loopback without credentials: its process belongs to the same user.
type localUser struct {
	name string // empty if it is not known
	err  error  // why it is not known to be the same user
}

// checksUsers reports whether this node asks the system for the user of each connection: it listens on the loopback,
// without credentials.
func (n *Node) checksUsers() bool {
	_, tcp := n.local.(*net.TCPAddr)
	return tcp && n.endpoint == nil && !n.config.Insecure
}

// authorizeAdmin returns the client as text, and an error if it may not administer this node.
func (n *Node) authorizeAdmin(p transport.Peer) (client string, err error) {
	id, _ := p.Principal.(tlsauth.Identity)
	user, local := p.Principal.(localUser)
	switch {
	case !id.IsValid(time.Now()):
		return "", fmt.Errorf("cluster: the certificate of %s ended at %s", id, id.Until.UTC().Format(time.RFC3339))
	case id.CanAdminister():
		return id.String(), nil
	case n.endpoint != nil:
		return "", fmt.Errorf("cluster: admin requests need the secret (--secret-file FILE, ELECT_SECRET_FILE) or the certificate of an operator; this client is %s", id)
	case !local:
		return "unauthenticated", nil
	case user.err != nil:
		return user.name, fmt.Errorf("cluster: without a secret, only processes of the same user may administer this node: %w", user.err)
	}
	return "the same user", nil
}
