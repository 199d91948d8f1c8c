package proccluster

import (
	"fmt"
	"os"
	"slices"
)

// Disconnect calls cut to disconnect nodes from the others. The nodes of names that are up are Cut until Reconnect.
func (f *Fleet) Disconnect(names []string, cut func() error) error {
	f.change(func() {
		for _, n := range f.nodes {
			if n.life == Up && slices.Contains(names, n.name) {
				n.life = Cut
			}
		}
	})
	return cut()
}

// Reconnect calls heal to connect all nodes again, and then each node that was Cut is up.
func (f *Fleet) Reconnect(heal func() error) error {
	if err := heal(); err != nil {
		return err
	}
	f.change(func() {
		for _, n := range f.nodes {
			if n.life == Cut {
				n.life = Up
			}
		}
	})
	return nil
}

// SendTo sends s to a process outside of the fleet, such as a command that a node runs.
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
