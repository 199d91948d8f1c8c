package bully_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/algotest"
	"github.com/elect-go/elect/algo/bully"
)

// with returns the algorithm for the network of the suite, with some options changed.
func with(t testing.TB, change func(o *bully.Options)) algo.Spec {
	t.Helper()
	o := bully.Defaults(algotest.Timing())
	change(&o)
	spec, err := bully.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestConformance(t *testing.T) {
	t.Run("defaults", func(t *testing.T) { algotest.Test(t, with(t, func(*bully.Options) {})) })
	// Whoever asks all above, and at once, may ask in vain: 32 that come back together send
	// up to 19 n² messages, and after the return of one there are 4.4 n².
	asks := algotest.Options{Messages: func(n int) int { return 6 * n * n }}
	t.Run("textbook", func(t *testing.T) { asks.Test(t, with(t, (*bully.Options).Textbook)) })
	t.Run("no head start", func(t *testing.T) {
		asks.Test(t, with(t, func(o *bully.Options) { o.HeadStart = 0 }))
	})
}

func FuzzSchedule(f *testing.F) { algotest.Fuzz(f, with(f, func(*bully.Options) {})) }
