package cluster

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/secure"
	"github.com/elect-go/elect/transport"
)

// waysIn is what a node is told that would listen to strangers.
const securityHelp = "one of the loopback, or what keeps strangers out: secret_file: FILE (elect secret FILE makes one, the same for all members), " +
	"or tls: {cert: FILE, key: FILE, ca: FILE}; or insecure: true, which keeps nobody out"

// migrate is the word for a cluster on its way to another way in.
const migrate = "migrate"

// door makes what keeps strangers out, or says what is wrong with it. Nil is none: the node listens on the loopback, or on
// a network of the program's own, or is told to.
func (c *Config) newEndpoint() (*secure.Endpoint, error) {
	wrong := func(field, got, want string) error { return &algo.SettingError{Field: field, Got: got, Want: want} }
	closed := c.SecretFile != "" || c.TLS != secure.Certificate{}
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
	return secure.New(secure.Config{
		Cluster: c.Cluster, Member: c.Name, SecretFile: c.SecretFile, TLS: c.TLS, Migrate: c.Security == migrate, Log: c.Logger,
	})
}

// openDoor says at each start who is let in that has proved nothing. A listener of the program's own may turn out to be one for
// strangers.
func (n *Node) checkListenAddr(l net.Listener) error {
	addr, ok := l.Addr().(*net.TCPAddr)
	switch {
	case n.config.Security == migrate:
		n.log.Warn("security: migrate: who comes by the way before is let in as well")
	case n.endpoint != nil:
	case n.config.Insecure:
		n.log.Warn("insecure: whoever reaches this node takes part, and gives orders")
	case ok && !addr.IP.IsLoopback():
		return &algo.SettingError{Field: "listen", Got: strconv.Quote(addr.String()), Want: securityHelp}
	}
	n.local = l.Addr()
	return nil
}

// enter makes a connection safe. Who speaks plain text is told in plain text what it needs.
func (n *Node) secureConn(c net.Conn, dialed bool) (net.Conn, any, error) {
	side := n.endpoint.Server
	if dialed {
		side = n.endpoint.Client
	}
	safe, id, err := side(c)
	oneWay := n.config.SecretFile == "" || n.config.TLS == secure.Certificate{}
	if dialed && oneWay && n.config.Security == migrate && errors.Is(err, secure.ErrPlain) {
		err = transport.ErrPlain
	}
	if id.Role == secure.Unauthenticated {
		return safe, nil, err
	}
	return safe, id, err
}

// localUser is what a node proves where nothing else is asked for: that it is a process of the same user.
type localUser struct {
	name string // empty if it is not known
	err  error  // why it is not known to be the same user
}

// asksUsers says whether this node asks the system for the user of each connection: it listens on the loopback, and
// nothing else keeps others out.
func (n *Node) checksUsers() bool {
	_, tcp := n.local.(*net.TCPAddr)
	return tcp && n.endpoint == nil && !n.config.Insecure
}

// orders says who gives an order, or why it may not.
func (n *Node) authorizeAdmin(p transport.Peer) (who string, err error) {
	id, _ := p.Principal.(secure.Identity)
	user, local := p.Principal.(localUser)
	switch {
	case !id.IsValid(time.Now()):
		return "", fmt.Errorf("cluster: the certificate of %s ended at %s", id, id.Until.UTC().Format(time.RFC3339))
	case id.CanAdminister():
		return id.String(), nil
	case n.endpoint != nil:
		return "", fmt.Errorf("cluster: orders are taken from who has the secret (--secret-file FILE, ELECT_SECRET_FILE), or the certificate of an operator, and not from %s", id)
	case !local:
		return "whoever", nil
	case user.err != nil:
		return user.name, fmt.Errorf("cluster: without a secret orders are taken from the same user alone: %w", user.err)
	}
	return "the same user", nil
}
