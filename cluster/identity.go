package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
	"github.com/elect-go/elect/transport"
)

// identify checks the hello of a peer against the proof of its identity, and completes the peer. Certificates prove a
// name. The shared secret does not: each holder may use any name and any ID.
func (n *Node) identify(p *transport.Peer, hello wire.Hello) error {
	proved, _ := p.Principal.(tlsauth.Identity)
	p.ValidUntil = proved.Until
	switch {
	case proved.Role == tlsauth.Unauthenticated && n.checksUsers():
		name, err := tlsauth.SameUser(p.Conn) // later it might be another process
		p.Principal, p.Identity = localUser{name, err}, name
		if err != nil && !hello.Client && tlsauth.KnowsUsers {
			return fmt.Errorf("cluster: without a secret members are of one user: %w", err)
		}
	case hello.Client && proved.Role != tlsauth.Unauthenticated:
		p.Identity = proved.String()
	case !hello.Client:
		p.Identity = strings.TrimSpace(proved.Role.String() + " " + hello.Name)
	}
	if hello.Client {
		return nil
	}
	// The endpoint accepts an unauthenticated peer only if the settings allow that.
	if proved.Role != tlsauth.Unauthenticated && !proved.AllowsName(hello.Name) {
		return fmt.Errorf("cluster: it says that it is %s, and has proved that it is %s", strconv.Quote(hello.Name), proved)
	}
	return n.checkOwner(proved, hello)
}

// checkOwner returns the reason why a peer may not have its ID, or nil. The ID of a member belongs to the name in the
// config. Otherwise any member could claim the ID of the leader.
func (n *Node) checkOwner(proved tlsauth.Identity, hello wire.Hello) error {
	m, isMember := n.view.Load().Member(hello.ID)
	if !isMember || proved.Role == tlsauth.Unauthenticated || proved.AllowsName(m.Name) {
		return nil
	}
	// The reason begins as one of package transport, so that a node with a copied data directory stops.
	return fmt.Errorf("%s: node id %s belongs to member %s, and this process has proved that it is %s: is its data directory a copy of another's?",
		transport.Duplicate, hello.ID, m.Name, proved)
}

// peer is a connected node.
type peer struct {
	hello    wire.Hello
	proved   tlsauth.Identity
	rejected bool // the peer may not have its ID, and its connection is about to end

	addressChecked bool // checkAddress has dialed the peer; the result of an earlier dial may be out of date
}

// recordPeer records a peer that is connected now, and reports whether it may have its ID: the config may have
// changed since its hello.
func (n *Node) recordPeer(p transport.Peer) bool {
	proved, _ := p.Principal.(tlsauth.Identity)
	one := &peer{hello: p.Hello.(wire.Hello), proved: proved}
	n.checkPeer(one)
	if !one.rejected {
		n.peers[p.ID] = one
	}
	return !one.rejected
}

// checkPeers ends the connections to peers that have the ID of another member by the present config.
func (n *Node) checkPeers() {
	for _, p := range n.peers {
		n.checkPeer(p)
	}
}

func (n *Node) checkPeer(p *peer) {
	err := n.checkOwner(p.proved, p.hello)
	if err == nil || p.rejected {
		return
	}
	p.rejected = true
	n.logOf(p.hello.ID).Warn("connection closed", "peer", p.hello.Name, "id", p.hello.ID, "reason", err)
	n.net.Disconnect(p.hello.ID, err)
}
