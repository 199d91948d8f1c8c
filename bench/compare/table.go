package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is a Markdown table with aligned columns.
type table struct {
	header []string
	rows   [][]string
}

func (t table) write(w io.Writer) {
	width := make([]int, len(t.header))
	for _, cells := range append([][]string{t.header}, t.rows...) {
		for i, cell := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string) {
		for i, cell := range cells {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, "|")
	}
	line(t.header)
	rule := make([]string, len(width))
	for i, n := range width {
		rule[i] = strings.Repeat("-", n)
	}
	line(rule)
	for _, cells := range t.rows {
		line(cells)
	}
}
