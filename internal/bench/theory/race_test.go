//go:build race

package theory_test

// underRace: the race detector makes a simulation ten times slower, and has nothing to
// see in a program of one goroutine.
const underRace = true
