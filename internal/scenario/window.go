package scenario

import (
	"strings"
	"time"

	"github.com/elect-go/elect/internal/untrusted"
)

// Window is the part of a run that a picture shows. A comment of the scenario selects it:
//
//	# Draw from 1s, T = 10ms, leaders only
type Window struct {
	From        time.Duration
	Unit        time.Duration // T; zero if the comment does not name it
	LeadersOnly bool          // draw only leaders
}

// WindowOf returns the window that a comment of a scenario selects, or the zero value. The error has the place of the
// comment.
func WindowOf(name, text string) (w Window, err error) {
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		rest, found := strings.CutPrefix(line, "# Draw from ")
		if !found {
			continue
		}
		parts := strings.Split(strings.TrimSpace(rest), ", ")
		isValid := parseWindowTime(parts[0], &w.From)
		for _, part := range parts[1:] {
			unit, isUnit := strings.CutPrefix(part, "T = ")
			switch {
			case isUnit:
				isValid = parseWindowTime(unit, &w.Unit) && w.Unit > 0 && isValid
			case part == "leaders only":
				w.LeadersOnly = true
			default:
				isValid = false
			}
		}
		if !isValid {
			return Window{}, &Error{Scenario: name, Line: number, Text: untrusted.Printable(line), Err: Wanted("the moment, and maybe T, as in # Draw from 1s, T = 10ms")}
		}
		return w, nil
	}
	return w, nil
}

// parseWindowTime reads a time that is not negative. It reports whether text is one.
func parseWindowTime(text string, to *time.Duration) bool {
	d, err := time.ParseDuration(text)
	*to = d
	return err == nil && d >= 0
}
