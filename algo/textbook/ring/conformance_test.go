package ring_test

import (
	"testing"

	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/textbook/ring"
)

func TestConformance(t *testing.T) {
	spec, err := ring.Factory(algotest.Timing(), nil)
	if err != nil {
		t.Fatal(err)
	}
	algotest.Test(t, spec)
}
