package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/bench"
	"github.com/elect-go/elect/examples/omega"
)

// An algorithm of your own in the registry is measured in all groups. Measurements of processes also
// need Options.Node, a command that runs a node.
func ExampleRun() {
	registry := builtin.Registry()
	registry["omega"] = omega.Factory
	report, err := bench.Run(context.Background(), registry, bench.Options{Groups: []string{"election"}, Short: true, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	var text bytes.Buffer
	_ = report.WriteText(&text) // into memory
	for line := range strings.Lines(text.String()) {
		if strings.Contains(line, " leader-crash ") {
			fmt.Println(strings.Join(strings.Fields(line)[:3], " "))
		}
	}
	// Output:
	// bully leader-crash 7
	// omega leader-crash 8
	// ring leader-crash 16
	// vote leader-crash 79
}
