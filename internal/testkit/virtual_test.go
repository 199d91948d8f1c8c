package testkit

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAdvanceAdvancesVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Advance(time.Hour)
		if got := time.Since(start); got != time.Hour {
			t.Errorf("%v have passed, want 1h", got)
		}
	})
}

func TestAdvanceRejectsRealTime(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it waits for the real clock")
		}
	}()
	Advance(time.Hour)
}
