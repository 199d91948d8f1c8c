package bully_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/textbook/bully"
)

func TestConformance(t *testing.T) {
	spec, err := bully.Factory(algo.LAN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	algotest.Test(t, spec)
}
