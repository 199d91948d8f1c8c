package proccluster

import (
	"fmt"
	"os"
	"slices"
)

// Disconnect calls cut to disconnect nodes from the others. The nodes of names that are up are Isolated until
// Reconnect.
func (c *Cluster) Disconnect(names []string, cut func() error) error {
	c.change(func() {
		for _, n := range c.nodes {
			if n.procState == Up && slices.Contains(names, n.name) {
				n.procState = Isolated
			}
		}
	})
	return cut()
}

// Reconnect calls heal to connect all nodes again, and then each node that was Isolated is up.
func (c *Cluster) Reconnect(heal func() error) error {
	if err := heal(); err != nil {
		return err
	}
	c.change(func() {
		for _, n := range c.nodes {
			if n.procState == Isolated {
				n.procState = Up
			}
		}
	})
	return nil
}

// SendTo sends s to a process outside of the cluster, such as a command that a node runs.
func SendTo(pid int, s Signal) error {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = send(p, s)
	}
	if err != nil {
		return fmt.Errorf("proccluster: %s process %d: %w", s, pid, err)
	}
	return nil
}
