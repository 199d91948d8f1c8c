package algosim

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// Suspect has the detectors of some nodes report a peer, rightly or wrongly. Only
// whoever monitors it hears of it.
func (c *Cluster) Suspect(peer int, by ...int) {
	for _, i := range by {
		c.opine(c.Node(i), ID(peer), true)
	}
}

// Trust has the detectors of some nodes take that back, or say that a leader beats which they do not monitor.
func (c *Cluster) Trust(peer int, by ...int) {
	for _, i := range by {
		c.opine(c.Node(i), ID(peer), false)
	}
}

func (c *Cluster) opine(nd *Node, peer algo.NodeID, dead bool) {
	c.whenAwake(nd, func() {
		reported, monitored := nd.Monitored[peer]
		beats := !monitored && !dead && nd.ID != peer && !c.silent(peer) && c.node(peer).Machine.Leader().ID == peer
		switch {
		case nd.Machine == nil, monitored && reported == dead, !monitored && !beats:
			return
		case monitored:
			nd.Monitored[peer] = dead
		}
		kind := driver.EventTrust
		if dead {
			kind = driver.EventSuspect
		}
		c.step(nd, driver.Event{Kind: kind, Peer: peer})
	})
}

// Report has the detector tell everybody who monitors a node what became of it, as
// after a crash. Others than a Cluster need it only when Detect changes.
func (c *Cluster) Report(peer int) {
	for _, nd := range c.nodes {
		if nd.Machine != nil {
			c.watchFor(nd, ID(peer))
		}
	}
}

// watchFor has the detector tell nd of peer, in due time.
func (c *Cluster) watchFor(nd *Node, peer algo.NodeID) {
	if c.DetectionTime < 0 {
		return
	}
	machine := nd.Machine
	c.At(c.Now+c.DetectionTime, func() {
		if nd.Machine == machine {
			c.opine(nd, peer, c.silent(peer))
		}
	})
}

// silent reports whether a node sends nothing.
func (c *Cluster) silent(id algo.NodeID) bool { return c.node(id).Machine == nil || c.node(id).paused }

// monitor takes over whom nd wants to be told of.
func (c *Cluster) monitor(nd *Node, peers []algo.NodeID) {
	before := nd.Monitored
	nd.Monitored = make(map[algo.NodeID]bool, len(peers))
	for _, peer := range peers {
		reported, monitored := before[peer]
		nd.Monitored[peer] = reported
		if !monitored && c.silent(peer) {
			c.watchFor(nd, peer)
		}
	}
}
