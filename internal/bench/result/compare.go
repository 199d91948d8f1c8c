package result

import (
	"fmt"
	"io"
	"slices"

	"github.com/elect-go/elect/internal/sample"
)

// Comparison is what changed from one run to another.
type Comparison struct {
	// Machines says in what the machines differ: then a change may be theirs.
	Machines []string `json:"machines"`
	Changes  []Change `json:"changes"`
}

// Verdict says in a word what became of a series.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "same"    // the interval of the ratio does not leave 1 out
	Less    Verdict = "less"    // all of it is below 1
	More    Verdict = "more"    // all of it is above 1
	Unknown Verdict = "unknown" // the old one is zero, and the new one is not
	Added   Verdict = "added"   // it is in the new run only
	Removed Verdict = "removed" // it is in the old run only
)

// Change is what became of a series. Of one that is in one run only the other estimate
// is zero.
type Change struct {
	Series
	Old     sample.Estimate `json:"old"`
	New     sample.Estimate `json:"new"`
	Ratio   sample.Ratio    `json:"ratio"` // of the medians, new to old
	Verdict Verdict         `json:"verdict"`
}

// Compare compares all series of two runs. Of a hundred that have not changed, about
// five are found to have, by the meaning of an interval of 95 %.
func Compare(before, after *Run) Comparison {
	c := Comparison{Machines: before.Machine.Differs(after.Machine), Changes: []Change{}}
	was := before.Samples()
	is := after.Samples()
	for _, n := range is {
		at := slices.IndexFunc(was, func(o Sample) bool { return o.Name() == n.Name() })
		if at < 0 {
			c.Changes = append(c.Changes, Change{Series: n.Series, New: n.Estimate(), Verdict: Added})
			continue
		}
		c.Changes = append(c.Changes, change(was[at], n))
		was = slices.Delete(was, at, at+1)
	}
	for _, o := range was {
		c.Changes = append(c.Changes, Change{Series: o.Series, Old: o.Estimate(), Verdict: Removed})
	}
	slices.SortStableFunc(c.Changes, func(a, b Change) int { return byGroup(a.Series, b.Series) })
	return c
}

func change(before, after Sample) Change {
	c := Change{Series: after.Series, Old: before.Estimate(), New: after.Estimate(), Ratio: after.Over(before)}
	switch {
	case !c.Ratio.Defined && c.Old.Median == c.New.Median:
		c.Verdict = Same
	case !c.Ratio.Defined:
		c.Verdict = Unknown
	case !c.Ratio.Apart():
		c.Verdict = Same
	case c.Ratio.Times < 1:
		c.Verdict = Less
	default:
		c.Verdict = More
	}
	return c
}

// Write writes c as a table in plain text; without those that are the same, unless all
// is set.
func (c Comparison) Write(out io.Writer, all bool) error {
	for _, m := range c.Machines {
		if _, err := fmt.Fprintf(out, "the machines differ in %s\n", m); err != nil {
			return err
		}
	}
	t := Table{Head: []string{"series", "old", "new", "ratio", "95 %", "verdict"}}
	same := 0
	for _, x := range c.Changes {
		if x.Verdict == Same {
			same++
			if !all {
				continue
			}
		}
		row := []string{x.Name(), median(x.Old), median(x.New), "", "", string(x.Verdict)}
		if x.Ratio.Defined {
			row[3], row[4] = fmt.Sprintf("%.3g", x.Ratio.Times), fmt.Sprintf("%.3g to %.3g", x.Ratio.Interval.Low, x.Ratio.Interval.High)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = fmt.Sprintf("%d of %d series are the same", same, len(c.Changes))
	return t.Write(out)
}

func median(e sample.Estimate) string {
	if e.Trials == 0 {
		return "-"
	}
	return Number(e.Median)
}
