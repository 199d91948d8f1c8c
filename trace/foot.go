package trace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// foot writes the numbers of messages and the legend.
func (p *page) foot(f *flights) {
	p.WriteByte('\n')
	p.counts(f.counts)
	p.others(f.repeats, p.d.others)
	p.legend()
}

// counts writes the table of messages by kind.
func (p *page) counts(counts []count) {
	all, width := count{kind: "all"}, len("all")
	for _, c := range counts {
		width = max(width, utf8.RuneCountInString(c.kind))
		all.sent += c.sent
		all.delivered += c.delivered
		all.lost += c.lost
		all.pending += c.pending
	}
	columns := []string{"sent", "delivered", "lost", "pending"}
	if all.pending == 0 {
		columns = columns[:3]
	}
	line := func(kind string, cells ...any) {
		fmt.Fprintf(p, "%-*s", width, kind)
		for i, name := range columns {
			fmt.Fprintf(p, "  %*v", len(name), cells[i])
		}
		p.WriteByte('\n')
	}
	line("", "sent", "delivered", "lost", "pending")
	for _, c := range append(slices.Clip(counts), all) {
		line(c.kind, c.sent, c.delivered, c.lost, c.pending)
	}
}

// others writes the numbers of messages that are not in the table.
func (p *page) others(repeats, others int) {
	var parts []string
	switch {
	case repeats == 1:
		parts = append(parts, "1 repeat")
	case repeats > 1:
		parts = append(parts, strconv.Itoa(repeats)+" repeats")
	}
	if others > 0 {
		parts = append(parts, strconv.Itoa(others)+" heartbeats and messages of the membership")
	}
	if len(parts) > 0 {
		p.WriteString("Besides: " + strings.Join(parts, ", ") + ".\n")
	}
}

// legend explains the signs of the drawing.
func (p *page) legend() {
	var parts []string
	for _, sign := range []struct {
		mark    rune
		meaning string
	}{
		{leadSign, "leads"}, {followSign, "follows"}, {sendSign, "sends"}, {timerSign, "timer"}, {suspectSign, "suspects"}, {trustSign, "trusts again"},
		{startSign, "starts"}, {lostSign, "lost, or down"}, {dotSign, "not arrived"},
	} {
		if p.used[sign.mark] {
			parts = append(parts, string(sign.mark)+" "+sign.meaning)
		}
	}
	if p.showSent {
		parts = append(parts, "@ when it was sent")
	}
	for i, line := range wrap(parts, "   ", "", p.width) {
		if i == 0 {
			p.WriteByte('\n')
		}
		p.WriteString(line + "\n")
	}
}
