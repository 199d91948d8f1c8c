package fleet

import "fmt"

// Signal is what can be done to a process.
type Signal string

// The signals.
const (
	Kill Signal = "kill" // it ends without a word
	Stop Signal = "stop" // it pauses, and its connections stand
	Cont Signal = "cont" // it goes on after Stop
	Term Signal = "term" // it says goodbye and ends
)

// ParseSignal reads the signals that take a leader away: kill, stop, term.
func ParseSignal(s string) (Signal, error) {
	switch s := Signal(s); s {
	case Kill, Stop, Term:
		return s, nil
	}
	return "", fmt.Errorf("%q, want kill, stop or term", s)
}
