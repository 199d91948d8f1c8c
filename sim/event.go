package sim

import "github.com/elect-go/elect/algo"

// action is the kind of an event.
type action uint8

const (
	deliver      action = iota + 1 // message from peer arrives at node, on link
	knock                          // dial of peer arrives; body is the dial
	greet                          // node learns of its connection to peer; body is the dial, if node dialed
	answer                         // answer to the dial of node to peer arrives
	fail                           // dial of node failed; body is the dial
	hangUp                         // node learns that link to peer ended
	learnCrash                     // scripted detector of node suspects peer
	learnRestart                   // scripted detector of node trusts peer
	beat                           // heartbeat is due while node saves
	saved                          // save of node ends
)

// event is a future event at node. An event for a process is ignored by later incarnations.
type event struct {
	action      action
	counted     bool // delivers a counted message
	own         bool // hang-up by the node itself
	graceful    bool // hang-up with a goodbye
	node        int32
	peer        int32
	link        uint32
	incarnation uint32
	body        algo.Message
}
