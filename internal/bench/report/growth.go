package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/elect-go/elect/internal/bench/result"
)

// Growth is how a cost grows with N: a power of N that was fitted to what was measured.
type Growth struct {
	What  string // as "messages: bully, worst"
	Power result.Power
	// Theory is "N", "N log N" or "N²"; empty where it says nothing.
	Theory string
}

// fromN is the least N that a power is fitted to: below it, what is added to the power
// bends the curve.
const fromN = 8

// Growths fits a power to the messages of each kind of election, and to the frames that
// all nodes together send at rest. There is none where fewer than three sizes were
// measured.
func Growths(r *result.Run) []Growth {
	var all []Growth
	for _, c := range curves(r, result.Messages, result.MetricSent) {
		if p, err := result.FitPower(c.from(fromN)); err == nil {
			all = append(all, Growth{fmt.Sprintf("messages: %s, %s", c.algorithm, c.name), p, c.growth()})
		}
	}
	for _, c := range curves(r, result.Idle, result.MetricFrames) {
		for at := range c.points {
			c.points[at].mean *= c.points[at].n // of all nodes
		}
		if p, err := result.FitPower(c.from(0)); err == nil {
			all = append(all, Growth{"frames of all nodes at rest: " + c.algorithm, p, "N"})
		}
	}
	return all
}

const growthText = "How does it grow with N?"

// growthCells is the table of growths as text.
func growthCells(all []Growth) (head []string, rows [][]string) {
	head = []string{"what", "exponent", "residual", "theory"}
	for _, g := range all {
		rows = append(rows, []string{g.What, fmt.Sprintf("%.2f", g.Power.Exponent), fmt.Sprintf("%.1f %%", 100*g.Power.Residual), g.Theory})
	}
	return head, rows
}

func writeGrowths(out io.Writer, all []Growth) error {
	if len(all) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(out, growthText); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head, rows := growthCells(all)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}
