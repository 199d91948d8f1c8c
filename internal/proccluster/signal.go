package proccluster

import "fmt"

// Signal is what can be done to a process.
type Signal string

// The signals.
const (
	Kill Signal = "kill" // it ends without a goodbye
	Stop Signal = "stop" // it pauses and keeps its connections
	Cont Signal = "cont" // it continues after Stop
	Term Signal = "term" // it sends a goodbye and ends
)

// ParseSignal reads the signals that take a leader away: kill, stop, term.
func ParseSignal(s string) (Signal, error) {
	switch s := Signal(s); s {
	case Kill, Stop, Term:
		return s, nil
	}
	return "", fmt.Errorf("%q, want kill, stop or term", s)
}
