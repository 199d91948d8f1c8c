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

// An algorithm of one's own stands beside those of this module: in the registry, and so in all
// groups. (What takes processes needs a command that runs a node, as Node of the options.)
func ExampleRun() {
	registry := builtin.Registry()
	registry["omega"] = omega.Factory
	report, err := bench.Run(context.Background(), registry, bench.Options{Groups: []string{"messages"}, Short: true, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	var text bytes.Buffer
	_ = report.WriteText(&text) // into memory
	_, answers, _ := strings.Cut(text.String(), "\n\n")
	first, _, _ := strings.Cut(answers, "\n\n")
	fmt.Println(first)
	// Output:
	// Which costs fewest messages at N=9, when the leader has crashed?
	//   algorithm  convention  msgs/election  95 %      min  p90  trials  to the best
	//   bully      detector    7              7 to 7    7    7    1       best
	//   omega      detector    8              8 to 8    8    8    1       1.14
	//   ring       detector    16             16 to 16  16   16   1       2.29
	//   vote       detector    79             79 to 79  79   79   1       11.3
}
