package main

import (
	"context"
	"fmt"
)

// entry is a line of the ledger.
type entry struct {
	number, token int64
	member        string
	scope         string // in which tokens have an order
}

// findings are the result of a check of the entries. The check does not know the leaders, only their entries.
type findings struct {
	entries int
	leaders int     // tokens
	late    []entry // entries of an older leader after an entry of a newer one
	shared  []entry // entries with the token of another member
}

func (f findings) String() string {
	text := fmt.Sprintf("%d entries of %d leaders; %d of an older leader stand behind one of a newer, %d have the token of another",
		f.entries, f.leaders, len(f.late), len(f.shared))
	for i, e := range f.late {
		if i == 5 {
			return text + "\n  …"
		}
		text += fmt.Sprintf("\n  entry %d is of %s with token %d", e.number, e.member, e.token)
	}
	return text
}

// check returns the findings on entries, in their order. Tokens of different scopes have no order, so leaders of
// different scopes have the order of their first entries.
func check(entries []entry) (f findings) {
	type leadership struct {
		scope string
		token int64
	}
	highest := make(map[string]int64)      // by scope
	members := make(map[leadership]string) // of the first entry
	begun := make(map[leadership]int)      // number of leaders that had begun by then, with this one
	leaders := 0
	for _, e := range entries {
		l := leadership{e.scope, e.token}
		first, known := members[l]
		if !known {
			members[l] = e.member
		} else if first != e.member {
			f.shared = append(f.shared, e)
		}
		switch {
		case e.token < highest[e.scope] || known && begun[l] < leaders:
			f.late = append(f.late, e)
		case !known:
			leaders++
			begun[l] = leaders
		}
		highest[e.scope] = max(highest[e.scope], e.token)
	}
	f.entries, f.leaders = len(entries), len(members)
	return f
}

// read returns all entries in their order.
func (l *ledger) read(ctx context.Context) (all []entry, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT number, token, member, scope FROM ledger ORDER BY number`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.number, &e.token, &e.member, &e.scope); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, rows.Err()
}
