package cluster

import (
	"errors"
	"time"

	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/transport"
)

// While the connections that a member has dialed are open, a wrong advertised address is not noticed. So each node
// dials a member once that has connected to it, and warns if the dial fails.

const (
	addressDelay = 10 * time.Second // wait after the connection, so that the dial delays no start
	addressRetry = 5 * time.Minute  // wait after a failed dial
)

// checkAddress dials the address of a connected peer after a while, unless the connection was dialled there.
func (n *Node) checkAddress(of wire.Hello, dialed string) {
	if of.Addr != dialed {
		n.checkAddressLater(of, addressDelay)
	}
}

func (n *Node) checkAddressLater(of wire.Hello, delay time.Duration) {
	time.AfterFunc(delay, func() {
		n.enqueue(func() {
			if p := n.peers[of.ID]; p != nil && p.hello.Addr == of.Addr && p.hello.Incarnation == of.Incarnation && n.engine.View().Contains(of.ID) {
				p.addressChecked = true
				n.net.Dial(transport.Target{Addr: of.Addr}) // ends in addressReached or addressFailed
			}
		})
	})
}

// addressReached warns of connected members that advertise the address of another node.
func (n *Node) addressReached(addr string, there wire.Hello) {
	for id, p := range n.peers {
		if p.addressChecked && p.hello.Addr == addr && id != there.ID {
			n.warnOfAddress(p.hello, errors.New("another node answers: "+there.Name))
		}
	}
}

// addressFailed warns of connected members that advertise an address which does not answer.
func (n *Node) addressFailed(addr string, why error) {
	for _, p := range n.peers {
		if p.addressChecked && p.hello.Addr == addr {
			n.warnOfAddress(p.hello, why)
		}
	}
}

func (n *Node) warnOfAddress(of wire.Hello, why error) {
	if n.engine.View().Contains(of.ID) {
		n.warn(of.Name, "not reachable at its address, though connected from its side", "peer", of.Name, "addr", of.Addr, "error", why)
		n.checkAddressLater(of, addressRetry)
	}
}
