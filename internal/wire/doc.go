// Package wire turns messages into bytes and back. A message is a Go struct with a
// kind; its codec is compiled from its fields when it is registered, so an
// algorithm of a stranger gets a safe one for nothing. The same codec serves
// everything that nodes say to each other, and the records they keep. How messages
// are framed, and how long they may be, is not its subject.
//
// # The encoding
//
// A message is one msgpack array and nothing after it:
//
//	[kind, field, field, …]
//
// The kind is a string of 1 to 64 bytes out of a-z, 0-9, "-", "_" and "/". A "+" after it
// says that the message is an [algo.Repeat]. The
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
// A nil slice and an empty one are both written as an empty one, and arrive as nil.
// Nothing else is supported; the type is refused when it is registered. So are
// unexported fields and types that contain themselves.
//
// Integers are written in the shortest form, and read in any; a value that does not
// fit the type of the field is refused, and so are floats, and nil in any place.
// Strings must have a string's head and binaries a binary's, of any width.
//
// Strings are at most 255 bytes long and slices at most 1024 elements, unless a
// struct tag says otherwise: `wire:"max=N"`, for a string or a slice.
//
// # Another version
//
// A message may gain fields without a new version of the protocol, and so may a struct in a message, and a
// record. A new field stands at the end and has the tag `wire:"optional"`, after a limit
// `wire:"max=N,optional"`:
//
//   - An older receiver skips the fields that follow those it knows. They may be any msgpack values in which
//     arrays and maps are nested at most 8 deep.
//   - A newer receiver accepts that the field is absent, which is its zero value. The absence of a field
//     without the tag is an error.
//
// So a sender cannot know whether the receiver has seen the field, and a receiver cannot tell zero from
// absent. A field that safety depends on therefore gets a new kind of message. A receiver that does not know
// the kind rejects it, so a new kind needs a new [Version].
//
// The example of this package shows a message and its bytes.
//
// # Hostile input
//
// Decode never panics. Whatever the input claims, room is made only for elements that
// what is left of it can hold: memory and time are in proportion to its length, and a
// frame is at most 64 KiB long. It is built from those primitives of
// github.com/vmihailenco/msgpack/v5 that read one number or one head: what the library
// decodes by reflection, or skips, can be made to exhaust memory or the stack by a few
// bytes. By reflection the library also reads nil as 0 and 70000 as a uint16, and
// rejects a struct with more or fewer fields than it knows.
//
// The text of every error is short and safe to log.
package wire
