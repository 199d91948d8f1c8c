// Package untrusted makes text that untrusted peers and files contain safe to show:
//
//	log.Warn("connection closed", "reason", untrusted.Printable(untrusted.Truncate(reason, 128)))
//
// A peer cannot send control characters to a terminal.
package untrusted

import (
	"strconv"
	"strings"
)

// Printable replaces the characters of text that are not printable, because a terminal would obey some of them.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// Truncate returns the first maxBytes bytes of text, as valid UTF-8.
func Truncate(text string, maxBytes int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), maxBytes)], "")
}
