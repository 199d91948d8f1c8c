package trace

import (
	"fmt"
	"strings"
)

// mermaidText is a text without what ends or opens something in Mermaid.
var mermaidText = strings.NewReplacer(";", ",", "#", "No. ", "\n", " ", "<", "(", ">", ")")

// Mermaid writes the events so far as a sequence diagram of Mermaid, which pages on a forge may
// contain. A message stands where it arrives; what is lost ends in a cross, and what is under way
// at the end is dotted.
func (d *Diagram) Mermaid() string {
	var b strings.Builder
	s := d.scene()
	names := make([]string, len(s.lanes))
	b.WriteString("sequenceDiagram\n")
	for i, id := range s.lanes {
		names[i] = d.name(id)
		fmt.Fprintf(&b, "    participant %s\n", names[i])
	}
	draw := func(f *flight) {
		arrow := "->>"
		switch {
		case !f.ended:
			arrow = "-->>"
		case f.lost:
			arrow = "-x"
		}
		fmt.Fprintf(&b, "    %s%s%s: %s\n", names[f.from], arrow, names[f.to], mermaidText.Replace(f.label))
	}
	for _, step := range s.steps {
		if step.flight != nil {
			draw(step.flight)
		}
		if len(step.texts) > 0 {
			fmt.Fprintf(&b, "    Note over %s: %s\n", names[step.lane], mermaidText.Replace(strings.Join(step.texts, ", ")))
		}
		for _, f := range step.sent {
			if !f.ended {
				draw(f)
			}
		}
	}
	return b.String()
}
