package cluster

// Hold keeps the loop of a running node from running until release is called: what a
// stopped process looks like from within.
func (n *Node) Hold() (release func()) {
	held, resume := make(chan struct{}), make(chan struct{})
	n.enqueue(func() {
		close(held)
		<-resume
	})
	<-held
	return func() { close(resume) }
}

// Waiting returns the number of inputs that wait for the loop.
func (n *Node) Waiting() int { return len(n.inbox) }

// FramesIn returns how many frames the node has read, also while its loop hangs.
func (n *Node) FramesIn() uint64 { return n.net.Counters()["frames.in"] }
