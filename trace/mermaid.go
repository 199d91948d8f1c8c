package trace

import (
	"fmt"
	"strings"
)

// mermaidText replaces the characters that have a meaning in Mermaid.
var mermaidText = strings.NewReplacer(";", ",", "#", "No. ", "\n", " ", "<", "(", ">", ")")

// Mermaid returns the events so far as a sequence diagram in the language of Mermaid, which GitHub and GitLab draw in
// Markdown. A message stands at its arrival. The arrow of a lost message ends in a cross. That of a message that has
// not arrived is dotted.
func (d *Diagram) Mermaid() string {
	var b strings.Builder
	s := d.scene()
	names := make([]string, len(s.lanes))
	b.WriteString("sequenceDiagram\n")
	for i, id := range s.lanes {
		names[i] = d.name(id)
		fmt.Fprintf(&b, "    participant %s\n", names[i])
	}
	draw := func(f *inFlight) {
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
		if step.message != nil {
			draw(step.message)
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
