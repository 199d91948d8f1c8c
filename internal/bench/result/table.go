package result

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table is what people read.
type Table struct {
	Title string // what it answers; empty if that needs no words
	Names int    // how many columns from the left are names; the others are numbers
	Head  []string
	Rows  [][]string
	Note  string // how to read it
}

// Write writes t in plain text: below a title it is indented.
func (t Table) Write(out io.Writer) error {
	var text strings.Builder
	indent := ""
	if t.Title != "" {
		fmt.Fprintln(&text, t.Title)
		indent = "  "
	}
	if len(t.Rows) == 0 && t.Title != "" {
		fmt.Fprintln(&text, "  no trial says")
		t.Head, t.Note = nil, ""
	}
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		if len(row) > 0 {
			fmt.Fprintf(w, "%s%s\n", indent, strings.Join(row, "\t"))
		}
	}
	_ = w.Flush() // into memory
	if t.Note != "" {
		fmt.Fprintln(&text, t.Note)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// Number is x in four digits, whole numbers and those from 10,000 in all before the point.
func Number(x float64) string {
	if whole := math.Round(x); x == whole || math.Abs(x) >= 10_000 {
		return strconv.FormatFloat(whole, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
