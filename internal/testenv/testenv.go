// Package testenv says how much of the tests is asked for, and what they may count on.
// Only tests import it.
package testenv

import (
	"flag"
	"os"
	"testing"
)

var long = flag.Bool("long", false, "also run what takes minutes: walks, storms, searches and mutants in full")

// Long reports whether the tests were started with -long. go test accepts that flag for
// packages whose tests import this one:
//
//	go test ./sim -long
func Long() bool { return *long }

// Rounds is how often a test repeats itself: short by default, and full with -long.
func Rounds(short, full int) int {
	if Long() {
		return full
	}
	return short
}

// OnlyLong skips the test unless -long is set.
func OnlyLong(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("takes long; run it with -long")
	}
}

// Need skips the test if what it needs is not there: want says what, and how to get it.
// Where CI=true is set the test fails instead, for there everything is installed.
func Need(t testing.TB, there bool, want string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs %s, and with CI=true nothing may be left out", want)
	default:
		t.Skipf("needs %s", want)
	}
}
