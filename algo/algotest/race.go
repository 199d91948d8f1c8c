//go:build race

package algotest

// raced: the race detector makes a search ten times slower, and has nothing to see in
// it.
const raced = true
