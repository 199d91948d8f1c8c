//go:build race

package sim

// underRace: the race detector makes a simulation ten times slower, and has nothing to
// see in a program of one goroutine. So less is run.
const underRace = true
