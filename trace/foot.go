package trace

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// foot writes what was counted, and what the signs mean that were used.
func (p *page) foot(f *flights) {
	p.WriteByte('\n')
	p.counts(f.counts)
	p.rest(f.repeats, p.d.others)
	p.legend()
}

// counts is a table of messages by kind.
func (p *page) counts(counts []count) {
	all := count{kind: "all"}
	for _, c := range counts {
		all.sent += c.sent
		all.delivered += c.delivered
		all.lost += c.lost
		all.pending += c.pending
	}
	rows := [][]string{{"", "sent", "delivered", "lost"}}
	if all.pending > 0 {
		rows[0] = append(rows[0], "pending")
	}
	for _, c := range append(counts[:len(counts):len(counts)], all) {
		row := []string{c.kind}
		for _, number := range []int{c.sent, c.delivered, c.lost, c.pending}[:len(rows[0])-1] {
			row = append(row, strconv.Itoa(number))
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		p.WriteString(line + "\n")
	}
}

// rest says what is not in the table.
func (p *page) rest(repeats, others int) {
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

// legend explains the signs that were drawn.
func (p *page) legend() {
	var parts []string
	for _, sign := range []struct {
		mark    rune
		meaning string
	}{
		{leadSign, "leads"}, {joinSign, "follows"}, {sendSign, "sends"}, {timerSign, "timer"}, {doubtSign, "suspects"}, {hopeSign, "trusts again"},
		{startSign, "starts"}, {lostSign, "lost, or down"}, {dotSign, "not arrived"},
	} {
		if p.used[sign.mark] {
			parts = append(parts, string(sign.mark)+" "+sign.meaning)
		}
	}
	if p.uneven {
		parts = append(parts, "@ when it was sent")
	}
	for i, line := range wrapped(parts, "   ", "", p.width) {
		if i == 0 {
			p.WriteByte('\n')
		}
		p.WriteString(line + "\n")
	}
}
