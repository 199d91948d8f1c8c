package cluster

// Hold blocks the loop of a running node until release is called.
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

// FramesIn returns the number of frames that the node has read. It does not need the loop.
func (n *Node) FramesIn() uint64 { return n.net.Counters()["frames.in"] }
