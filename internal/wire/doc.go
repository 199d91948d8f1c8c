// Package wire encodes and decodes messages. A message is a Go struct with a kind:
//
//	codec, err := wire.NewCodec(wire.Hello{}, Elect{})
//	b, err := codec.Append(nil, Elect{Round: 7})
//	m, err := codec.Decode(b) // Elect{Round: 7}
//
// A [Codec] is compiled from the fields of its messages when they are registered: package schema has the rules for
// them. So every algorithm gets a safe codec without code of its own. The same codec serves all messages between nodes,
// and the records that nodes save. The package knows neither frames nor their maximum length.
//
// # The encoding
//
// A message is one msgpack array and nothing after it:
//
//	[kind, field, field, …]
//
// The kind is a string of 1 to 64 bytes out of a-z, 0-9, "-", "_" and "/". A "+" after it marks an [algo.Periodic]. The
// fields follow in the order of the Go struct, without names:
//
//	bool                       boolean
//	int, int8 … int64          integer (a time.Duration counts nanoseconds)
//	uint, uint8 … uint64       integer, not negative (so is an algo.Epoch)
//	string                     string of valid UTF-8
//	algo.NodeID                binary of exactly 16 bytes
//	[]byte                     binary
//	struct                     array of its fields, in their order
//	slice of any of these      array of its elements
//
// A nil slice is written as an empty one, and an empty one is decoded as nil. NewCodec rejects all other types,
// unexported fields, and types that contain themselves.
//
// Integers are written in the shortest form, and read in any form. Decode rejects an integer that does not fit the
// type of its field, a float, and nil. A string must have the head of a string, and binary data that of binary data,
// of any width.
//
// Strings have at most 255 bytes and slices at most 1024 elements, unless a struct tag sets another limit:
// `wire:"max=N"`, for a string or a slice.
//
// # Other versions
//
// A message, a struct in a message, and a record may gain fields without a new version of the protocol. A new field
// stands at the end and has the tag `wire:"optional"`, after a limit `wire:"max=N,optional"`:
//
//   - An older receiver skips the fields that follow those it knows. They may be any msgpack values in which arrays
//     and maps are nested at most 8 deep.
//   - A newer receiver accepts that the field is absent, and uses its zero value. The absence of a field without the
//     tag is an error.
//
// So a sender cannot know whether the receiver has seen the field, and a receiver cannot tell zero from absent. A
// field that safety depends on therefore needs a new kind of message. A receiver rejects an unknown kind, so a new
// kind needs a new [Version].
//
// The example of this package shows a message and its bytes.
//
// # Untrusted input
//
// Guarantees: Decode never panics. It allocates memory only for elements that the rest of the input can hold,
// whatever length the input claims. So its memory and time are in proportion to the length of the input, and a frame
// has at most 64 KiB. The text of every error is short and safe to log.
//
// The package uses only those functions of github.com/vmihailenco/msgpack/v5 that read or write one number or one
// head. A few bytes of input can make the functions that use reflection, or skip values, exhaust memory or the stack.
// Reflection would also decode nil as 0 and 70000 as a uint16, and would reject a struct with more or fewer fields
// than it knows.
package wire
