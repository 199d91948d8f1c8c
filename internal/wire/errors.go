package wire

import "cmp"

// Error says why bytes are not a message, or why a message cannot be encoded: its peer
// would refuse it. Its text is short and safe to log, whatever the bytes are.
type Error struct {
	Verb  string // "decode" or "encode"
	Kind  string // of the message; empty if the bytes failed before it was known
	Field string // path of the field in the Go struct; empty if it is not about one
	Why   string
}

func (e *Error) Error() string {
	what := cmp.Or(e.Kind, "message")
	if e.Field != "" {
		what += "." + e.Field
	}
	return "wire: cannot " + e.Verb + " " + what + ": " + e.Why
}
