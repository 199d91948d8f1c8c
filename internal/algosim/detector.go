package algosim

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
)

// Suspect lets the detectors of some nodes suspect a peer, truly or falsely, if they monitor it.
func (c *Cluster) Suspect(peer int, by ...int) {
	for _, i := range by {
		c.reportPeer(c.Node(i), ID(peer), true)
	}
}

// Trust lets the detectors of some nodes trust a peer again, or report heartbeats of a leader that
// they do not monitor.
func (c *Cluster) Trust(peer int, by ...int) {
	for _, i := range by {
		c.reportPeer(c.Node(i), ID(peer), false)
	}
}

// reportPeer passes the opinion of the detector to a node, if it is new.
func (c *Cluster) reportPeer(nd *Node, peer algo.NodeID, dead bool) {
	c.whenAwake(nd, func() {
		reported, monitored := nd.Monitored[peer]
		sendsHeartbeats := !monitored && !dead && nd.ID != peer && !c.isSilent(peer) && c.node(peer).Machine.Leader().ID == peer
		switch {
		case nd.Machine == nil, monitored && reported == dead, !monitored && !sendsHeartbeats:
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

// Report lets the detectors report the state of a node, as after a crash, to all nodes that monitor
// it. Callers need it only after a change of DetectionTime.
func (c *Cluster) Report(peer int) {
	for _, nd := range c.nodes {
		if nd.Machine != nil {
			c.scheduleReport(nd, ID(peer))
		}
	}
}

// scheduleReport lets the detector of nd report peer after DetectionTime.
func (c *Cluster) scheduleReport(nd *Node, peer algo.NodeID) {
	if c.DetectionTime < 0 {
		return
	}
	machine := nd.Machine
	c.At(c.Now+c.DetectionTime, func() {
		if nd.Machine == machine {
			c.reportPeer(nd, peer, c.isSilent(peer))
		}
	})
}

// isSilent reports whether a node sends nothing.
func (c *Cluster) isSilent(id algo.NodeID) bool {
	return c.node(id).Machine == nil || c.node(id).paused
}

// setMonitored sets the peers that nd monitors.
func (c *Cluster) setMonitored(nd *Node, peers []algo.NodeID) {
	before := nd.Monitored
	nd.Monitored = make(map[algo.NodeID]bool, len(peers))
	for _, peer := range peers {
		reported, monitored := before[peer]
		nd.Monitored[peer] = reported
		if !monitored && c.isSilent(peer) {
			c.scheduleReport(nd, peer)
		}
	}
}
