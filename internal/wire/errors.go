package wire

import (
	"errors"
	"strconv"
)

// ErrUnknownKind says that a message is of a kind that the codec was not made
// for. The rest of the message has not been looked at.
var ErrUnknownKind = errors.New("wire: unknown kind of message")

// Error says why bytes are not a message, or why a message cannot be encoded: its peer
// would refuse it. Its text is short and safe to log, whatever the bytes are.
type Error struct {
	Verb  string // "decode" or "encode"
	Kind  string // of the message; empty if the bytes failed before it was known
	Field string // path of the field in the Go struct; empty if it is not about one
	Why   string
}

func (e *Error) Error() string {
	what := "message"
	switch {
	case e.Kind != "" && e.Field != "":
		what = e.Kind + "." + e.Field
	case e.Kind != "":
		what = e.Kind
	}
	return "wire: cannot " + e.Verb + " " + what + ": " + e.Why
}

// quote makes text from a peer short and safe to log.
func quote[T string | []byte](text T) string {
	const longest = 32
	if len(text) <= longest {
		return strconv.QuoteToASCII(string(text))
	}
	return strconv.QuoteToASCII(string(text[:longest])) + " and " + count(len(text)-longest, "more byte")
}

// count is "1 byte", "2 bytes". A length above 2^31 is negative in the int of a
// 32-bit machine, and is none there.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if n < 0 {
		return "too many " + what + "s"
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// tooMany says that a length is above its bound, or nothing.
func tooMany(n, limit int, what string) string {
	if n < 0 || n > limit {
		return "has " + count(n, what) + ", at most " + strconv.Itoa(limit) + " are allowed"
	}
	return ""
}
