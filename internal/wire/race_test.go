//go:build race

package wire

// underRace: the race detector makes a search ten times slower, and has nothing to see
// in a program of one goroutine.
const underRace = true
