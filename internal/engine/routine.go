package engine

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/trace"
)

// routineKinds are the kinds of messages outside elections.
var routineKinds = func() map[string]bool {
	kinds := make(map[string]bool)
	for _, m := range Messages() {
		kinds[m.Kind()] = true
	}
	return kinds
}()

// IsRoutine reports whether an event also happens while nothing changes: a timer, a periodic message, or a message of
// the detector or the membership.
func IsRoutine(e trace.Event) bool {
	if e.Kind == trace.SetTimer || e.Kind == trace.StopTimer || e.Kind == trace.Expire {
		return true
	}
	m, isPeriodic := algo.Unwrap(e.Message)
	return isPeriodic || m != nil && routineKinds[m.Kind()]
}
