//go:build race

package main

// underRace: the race detector makes a search ten times slower, and has nothing to see
// in it.
const underRace = true
