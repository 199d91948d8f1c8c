//go:build !race

package theory_test

const underRace = false
