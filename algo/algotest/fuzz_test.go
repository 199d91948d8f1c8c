package algotest_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	textbookring "github.com/elect-go/elect/algo/textbook/ring"
)

// FuzzTextbook is skipped by algotest.Fuzz, because the walk violates assumptions of a textbook. Without the skip, its
// seeds fail.
func FuzzTextbook(f *testing.F) {
	spec, err := textbookring.Factory(algo.LAN(), nil)
	if err != nil {
		f.Fatal(err)
	}
	algotest.Fuzz(f, spec)
	f.Error("the textbook is not skipped")
}
