//go:build race

package testkit

// UnderRace reports whether the tests were built with the race detector. It makes computation about
// ten times slower, and a sync.Pool drops items at random.
const UnderRace = true
