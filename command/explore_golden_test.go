package command

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// counted are the searches whose counts are kept. Those in large take more than a
// quarter of a second each.
var (
	counted = []string{
		"--algorithm bully --nodes 2 --epochs 1",
		"--algorithm bully --nodes 2 --epochs 2 --crashes 1",
		"--algorithm bully --nodes 2 --epochs 3 --crashes 1 --mistakes 1",
		"--algorithm bully --nodes 3 --epochs 1 --settled --crashes 1",
		"--algorithm bully --nodes 3 --epochs 2 --settled --mistakes 1",
		"--algorithm ring --nodes 2 --epochs 2 --crashes 1",
		"--algorithm ring --nodes 3 --epochs 1",
		"--algorithm ring --nodes 3 --epochs 1 --crashes 1",
		"--algorithm ring --nodes 3 --epochs 2 --settled --crashes 1 --mistakes 1",
		"--algorithm ring --nodes 4 --epochs 1",
		"--algorithm vote --nodes 2 --epochs 1 --repeats 1",
		"--algorithm vote --nodes 3 --epochs 2 --repeats 1 --settled",
		"--algorithm textbook-bully --nodes 3 --epochs 2 --crashes 1 --property durable",
	}
	countedLarge = []string{
		"--algorithm ring --nodes 2 --epochs 3 --crashes 2 --mistakes 1",
		"--algorithm ring --nodes 3 --epochs 2",
		"--algorithm ring --nodes 3 --epochs 2 --crashes 1",
		"--algorithm bully --nodes 2 --epochs 3 --crashes 2 --mistakes 2",
		"--algorithm bully --nodes 3 --epochs 2 --settled --crashes 1",
		"--algorithm bully --nodes 3 --epochs 3 --settled --mistakes 1",
		"--algorithm bully --nodes 4 --epochs 2 --settled --mistakes 1",
		"--algorithm ring --nodes 3 --epochs 3 --settled --crashes 1",
		"--algorithm ring --nodes 4 --epochs 1 --crashes 1",
		"--algorithm ring --nodes 4 --epochs 2 --settled --crashes 1 --mistakes 1",
	}
)

const (
	countsFile = "testdata/explore.golden"
	countsHead = `# What elect explore counts with these flags. Each search is complete, and nothing that
# the algorithm claims is broken. -update writes it anew, with -long all of it.
`
)

// TestCountsOfStates holds the number of states of each algorithm with few nodes, so that
// none changes unnoticed. Run it with -long for all: a minute, and 1 GiB.
func TestCountsOfStates(t *testing.T) {
	if testkit.UnderRace {
		t.Skip("too slow under the race detector")
	}
	kept := make(map[string]string) // by flags
	text, err := os.ReadFile(countsFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, flags, found := strings.Cut(line, "  --"); found {
			kept["--"+strings.TrimSpace(flags)] = line
		}
	}
	all := counted
	if testkit.Long() {
		all = append(all[:len(all):len(all)], countedLarge...)
	}
	for _, flags := range all {
		got, _ := explored[searchObject](t, 0, strings.Fields(flags)...)
		require.True(t, got.Complete, flags)
		line := fmt.Sprintf("%10d %11d %6d %12d  %s\n", got.States, got.Generated, got.Depth, got.StatesWithLeader, flags)
		if !*update && line != kept[flags] {
			t.Errorf("counted\n%swant (-update writes it anew)\n%s", line, kept[flags])
		}
		kept[flags] = line
	}
	anew := countsHead + "    states   generated  depth  with leader  flags\n"
	for _, flags := range append(counted[:len(counted):len(counted)], countedLarge...) {
		require.NotEmpty(t, kept[flags], "%s is not in %s: write it with -update -long", flags, countsFile)
		anew += kept[flags]
	}
	if *update {
		require.NoError(t, os.WriteFile(countsFile, []byte(anew), 0o644))
	} else if !t.Failed() {
		require.Equal(t, anew, string(text), "%s holds something else than counts", countsFile)
	}
}
