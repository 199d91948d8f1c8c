package electortest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elect-go/elect/elector"
)

func TestHistoryReportsViolations(t *testing.T) {
	at := func(name string, token uint64, first, last uint64) term {
		l := elector.Leadership{Name: name, Token: token, Scope: [16]byte{1}}
		clock := func(number uint64) moment { return moment{number, time.Unix(int64(number/10), 0)} } // ten numbers share one time
		return term{Leadership: l, First: clock(first), Last: clock(last)}
	}
	otherScope := at("n2", 2, 5, 6)
	otherScope.Scope = [16]byte{2}
	for name, test := range map[string]struct {
		terms             []term
		exclusive, rising bool
		want              string // in the only violation; empty for none
	}{
		"one after another":                            {[]term{at("n1", 1, 1, 4), at("n2", 2, 5, 6)}, true, true, ""},
		"two at once":                                  {[]term{at("n1", 1, 1, 6), at("n2", 2, 5, 7)}, true, true, "two work at once"},
		"two at once, recorded late":                   {[]term{at("n2", 2, 5, 7), at("n1", 1, 1, 6)}, true, true, "two work at once"},
		"two at once without the claim":                {[]term{at("n1", 1, 1, 6), at("n2", 2, 5, 7)}, false, true, ""},
		"two works of one leadership":                  {[]term{at("n1", 1, 1, 5), at("n1", 1, 2, 6)}, true, true, ""},
		"an equal token":                               {[]term{at("n1", 1, 1, 2), at("n2", 1, 5, 6)}, true, true, "the token did not rise"},
		"a lower token":                                {[]term{at("n1", 3, 1, 2), at("n1", 1, 5, 6)}, true, true, "the token did not rise"},
		"a lower token, not claimed":                   {[]term{at("n1", 3, 1, 2), at("n1", 1, 5, 6)}, true, false, ""},
		"a lower token later, without exclusion":       {[]term{at("n1", 3, 1, 2), at("n2", 1, 11, 12)}, false, true, "the token did not rise"},
		"a lower token at one time, without exclusion": {[]term{at("n1", 3, 1, 2), at("n2", 1, 3, 4)}, false, true, ""},
		"another scope":                                {[]term{at("n1", 1, 1, 2), otherScope}, true, true, "scopes"},
	} {
		t.Run(name, func(t *testing.T) {
			found := violations(test.terms, test.exclusive, test.rising)
			if test.want == "" && len(found) > 0 || test.want != "" && (len(found) != 1 || !strings.Contains(found[0], test.want)) {
				t.Errorf("violations %q, want %q", found, slices.Clone([]string{test.want}))
			}
		})
	}
}
