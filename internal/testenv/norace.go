//go:build !race

package testenv

// UnderRace reports whether the tests were built with the race detector.
const UnderRace = false
