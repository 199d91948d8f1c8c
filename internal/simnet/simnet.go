// Package simnet has what a node asks of a network that is a simulation, such as the one of package clustertest.
package simnet

// Turn is one turn of the loop of a node. Only this module can name the type, so the listener of another module is no
// [Pauser], whatever methods it has.
type Turn struct{}

// Pauser is a listener of a process that can be paused, as by SIGSTOP.
type Pauser interface {
	// WaitWhilePaused blocks while the process is paused. The loop of the node calls it before each turn.
	WaitWhilePaused(Turn)
}
