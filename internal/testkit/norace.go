//go:build !race

package testkit

// UnderRace reports whether the tests were built with the race detector.
const UnderRace = false
