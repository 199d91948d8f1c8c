package sim

import (
	"fmt"
	"strings"
)

// The methods below are the commands that most programs need. Each calls [World.Do].

// Crash kills node n. Its saved state remains.
func (w *World) Crash(n int) error { return w.Do("crash n%d", n) }

// Restart starts node n again from its saved state, after Crash or Stop.
func (w *World) Restart(n int) error { return w.Do("restart n%d", n) }

// Stop stops node n gracefully: it says goodbye.
func (w *World) Stop(n int) error { return w.Do("stop n%d", n) }

// Pause stops node n as SIGSTOP does: its connections stay open, and it does nothing.
func (w *World) Pause(n int) error { return w.Do("pause n%d", n) }

// Resume continues node n after Pause.
func (w *World) Resume(n int) error { return w.Do("resume n%d", n) }

// Campaign lets node n start an election.
func (w *World) Campaign(n int) error { return w.Do("campaign n%d", n) }

// Cut drops all frames from one node to another. The opposite direction still works.
func (w *World) Cut(from, to int) error { return w.Do("cut n%d n%d", from, to) }

// Partition replaces all cuts: two nodes hear each other only within a common group. A node in two groups is a
// bridge. A node in no group is isolated.
func (w *World) Partition(groups ...[]int) error {
	command := "partition"
	for _, group := range groups {
		var names []string
		for _, n := range group {
			names = append(names, fmt.Sprint("n", n))
		}
		command += " " + strings.Join(names, ",")
	}
	return w.Do("%s", command)
}

// Heal ends all cuts, partitions and network faults. Delays stay as they are.
func (w *World) Heal() error { return w.Do("heal") }
