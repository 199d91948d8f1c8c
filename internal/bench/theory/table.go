package theory

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// page is theory.md, the tables for readers. Why the formulas hold is in proofs.md.
//
//go:embed theory.md
var page string

// table parses the page at its first use: most processes that contain this package never need it.
var table = sync.OnceValue(func() []Row { return read(page) })

// read parses the tables of the page: the conventions, and the rows under the heading of one or more
// algorithms. It panics if the page is malformed.
func read(page string) (rows []Row) {
	conventions := make(map[[2]string]Convention) // by algorithm and name
	for section := range strings.SplitSeq(page, "\n## ") {
		heading, text, _ := strings.Cut(section, "\n")
		algorithms := strings.Split(heading, ", ")
		for at, cells := range cellsOf(text) {
			switch {
			case at == 0 || strings.HasPrefix(cells[0], "---"): // the head
			case heading == "Conventions":
				for _, algorithm := range strings.Split(cells[0], ", ") {
					conventions[[2]string{algorithm, cells[1]}] = conventionOf(cells[1:])
				}
			default:
				for _, algorithm := range algorithms {
					rows = append(rows, rowOf(algorithm, cells, conventions))
				}
			}
		}
	}
	// Group by algorithm, in the order of the page.
	slices.SortStableFunc(rows, func(a, b Row) int { return strings.Compare(a.Algorithm, b.Algorithm) })
	return rows
}

// cellsOf returns the lines of the table in a text.
func cellsOf(text string) (lines [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for at := range cells {
			cells[at] = strings.TrimSpace(cells[at])
		}
		lines = append(lines, cells)
	}
	return lines
}

func conventionOf(cells []string) Convention {
	c := Convention{Name: cells[0], Text: cells[1], Counting: cells[3], Quiet: cells[4] == "yes", Altered: cells[5]}
	if name, value, found := strings.Cut(cells[2], "="); found {
		c.Options = [][2]string{{name, value}}
	}
	return c
}

func rowOf(algorithm string, cells []string, conventions map[[2]string]Convention) Row {
	name := cells[1]
	if name == "detector" && strings.HasPrefix(algorithm, "textbook-") {
		name = "textbook" // the table is for both
	}
	c, known := conventions[[2]string{algorithm, name}]
	if !known {
		panic(fmt.Sprintf("theory: %s, %s: there is no convention %q", algorithm, cells[0], name))
	}
	holds := conditionsOf(cells[2])
	r := Row{
		Algorithm: algorithm, Case: cells[0], Convention: c, Sent: Formula(cells[5]), Delivered: Formula(cells[6]), Decided: Formula(cells[7]),
		Turnaround: Formula(cells[8]), Growth: cells[9], Mean: Mean(cells[10]), Source: cells[11],
		Holds: func(e Election) bool { return isPossible(e) && met(holds, e) }, typical: conditionsOf(cells[3]),
	}
	for kind := range strings.SplitSeq(cells[4], ", ") {
		name, sent, _ := strings.Cut(kind, " ")
		r.Kinds = append(r.Kinds, Kind{name, Formula(sent)})
	}
	return r
}

// condition requires that two numbers are equal, or that the first is at least the second.
type condition struct {
	left, right Formula
	atLeast     bool
}

func conditionsOf(text string) (all []condition) {
	for part := range strings.SplitSeq(text, ", ") {
		c := condition{atLeast: strings.Contains(part, "≥")}
		left, right, found := strings.Cut(strings.Replace(part, "≥", "=", 1), "=")
		if !found {
			panic(fmt.Sprintf("theory: %q is no condition", part))
		}
		c.left, c.right = Formula(strings.TrimSpace(left)), Formula(strings.TrimSpace(right))
		all = append(all, c)
	}
	return all
}

func met(all []condition, e Election) bool {
	for _, c := range all {
		left, right := c.left.At(e), c.right.At(e)
		if left < right || left > right && !c.atLeast {
			return false
		}
	}
	return true
}
