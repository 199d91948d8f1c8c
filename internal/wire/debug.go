package wire

// DebugRequest requests what a bug report needs. Only clients send it. The reply is a [DebugReply]. A client requests
// the next part when it has the previous one.
type DebugRequest struct {
	After uint64 // number of the last event that the client has; 0 for the first part
}

// DebugReply is one part of what a node reports of itself. A part has at most 64 KiB.
type DebugReply struct {
	About    []DebugFact  `wire:"max=64"`  // the process; only in the first part
	Settings []DebugFact  `wire:"max=256"` // the settings in effect, without secrets; only in the first part
	Events   []DebugEvent `wire:"max=512"` // oldest first
	Recorded uint64       // number of events since the start of the node; it keeps only the last ones
	Next     uint64       // After of the next request; 0 if there is no later event
}

// MaxDebugFacts is the maximum length of DebugReply.Settings, and MaxDebugName that of DebugFact.Name in bytes.
const MaxDebugFacts, MaxDebugName = 256, 64

// DebugFact is a name and its value.
type DebugFact struct {
	Name  string `wire:"max=64"`
	Value string `wire:"max=2048"`
}

// DebugEvent is an event as a line of package trace.
type DebugEvent struct {
	JSON string `wire:"max=4096"`
}

// Kind is "debug-request".
func (DebugRequest) Kind() string { return "debug-request" }

// Kind is "debug-reply".
func (DebugReply) Kind() string { return "debug-reply" }
