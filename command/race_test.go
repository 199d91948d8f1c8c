//go:build race

package command

// underRace: the race detector makes a search ten times slower, and has nothing to see
// in it.
const underRace = true
