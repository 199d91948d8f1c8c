package vote_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/textbook/vote"
)

func TestConformance(t *testing.T) {
	spec, err := vote.Factory(algo.LAN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	algotest.Test(t, spec)
}
