package sim

import "github.com/elect-go/elect/algo"

// action says what an event is.
type action uint8

const (
	deliver      action = iota + 1 // message arrives at node, from peer, on link
	knock                          // a dial of peer arrives where it went; message is the dial
	greet                          // link stands, and node does not know yet that peer is at its other end; message is the dial, if it was its own
	answer                         // the dial of node to peer was answered: link stands
	fail                           // the dial of node failed; message is the dial
	hangUp                         // link to peer ended, as node sees it
	learnCrash                     // the scripted detector of node takes peer for dead
	learnRestart                   // and takes that back
	beat                           // node has saved for another heartbeat interval
	saved                          // the save of node has ended
)

// event is what will happen to node. Where it is about a process, and not about the
// place in the network, it counts only for the life it was meant for.
type event struct {
	action  action
	counted bool // it delivers a message that counts
	own     bool // it is a hang-up of the node itself
	polite  bool // it is a hang-up with a goodbye
	node    int32
	peer    int32
	link    uint32
	life    uint32
	body    algo.Message
}
