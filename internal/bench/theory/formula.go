package theory

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Formula is a number that depends on the election, in the notation of books and with the symbols of
// theory.md, such as "k(k−1)/2 + kf".
type Formula string

// symbols defines the letters of a formula. A symbol that is a prefix of another comes after it.
var symbols = []struct {
	name string
	of   func(Election) float64
}{
	{"H(N)", func(e Election) float64 { return H(e.N) }},
	{"RTT", Election.Wait},
	{"T", func(Election) float64 { return 1 }},
	{"N", whole(func(e Election) int { return e.N })},
	{"f", whole(func(e Election) int { return e.Crashed })},
	{"m", whole(Election.Live)},
	{"i", whole(Election.Lowest)},
	{"k", whole(Election.elections)},
	{"a", whole(func(e Election) int { return e.elections() - e.Starting() })},
	{"d", whole(Election.Hops)},
	{"l", whole(Election.lost)},
	{"W", whole(Election.ways)},
	{"s", whole(Election.Starting)},
	{"A", flag(Election.ascending)},
	{"D", flag(Election.descending)},
	{"b", flag(func(e Election) bool { return e.Crashed > 0 && e.Starts(e.Before(e.N)) })},
	{"u", func(e Election) float64 { return unless(e.highestStarts()) }},
	{"V", func(e Election) float64 { return decidedAt(e, true) }},
	{"v", func(e Election) float64 { return decidedAt(e, false) }},
}

func whole(of func(Election) int) func(Election) float64 {
	return func(e Election) float64 { return float64(of(e)) }
}

func flag(of func(Election) bool) func(Election) float64 {
	return func(e Election) float64 { return 1 - unless(of(e)) }
}

// At returns the value for an election. It panics if the text is not a formula.
func (f Formula) At(e Election) float64 {
	p := parser{text: strings.ReplaceAll(string(f), " ", ""), e: e}
	value := p.sum()
	if p.text != "" || f == "" {
		panic(fmt.Sprintf("theory: formula %q: %q is not understood", f, p.text))
	}
	return value
}

// parser evaluates a formula while it parses it.
type parser struct {
	text string // rest of the formula
	e    Election
}

// take removes a sign from the start of the text, if it is there.
func (p *parser) take(sign string) (taken bool) {
	p.text, taken = strings.CutPrefix(p.text, sign)
	return taken
}

func (p *parser) sum() float64 {
	value := p.product()
	for {
		switch {
		case p.take("+"):
			value += p.product()
		case p.take("−"):
			value -= p.product()
		default:
			return value
		}
	}
}

// product parses factors, with a sign between them or without.
func (p *parser) product() float64 {
	value := p.factor()
	for {
		switch {
		case p.take("·"):
			value *= p.factor()
		case p.take("/"):
			value /= p.factor()
		default:
			if next, _ := utf8.DecodeRuneInString(p.text); p.text == "" || strings.ContainsRune("+−)", next) {
				return value
			}
			value *= p.factor()
		}
	}
}

func (p *parser) factor() float64 {
	value := p.atom()
	if p.take("²") {
		value *= value
	}
	return value
}

func (p *parser) atom() float64 {
	if p.take("(") {
		value := p.sum()
		if !p.take(")") {
			panic(fmt.Sprintf("theory: a parenthesis is not closed before %q", p.text))
		}
		return value
	}
	for _, s := range symbols {
		if p.take(s.name) {
			return s.of(p.e)
		}
	}
	digits := len(p.text) - len(strings.TrimLeft(p.text, "0123456789"))
	value, err := strconv.ParseFloat(p.text[:digits], 64)
	if err != nil {
		panic(fmt.Sprintf("theory: %q is no number and no symbol", p.text))
	}
	p.text = p.text[digits:]
	return value
}
