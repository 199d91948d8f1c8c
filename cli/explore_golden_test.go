package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// counted lists the flags of the searches in the golden file. Each search of countedLarge takes more than 250 ms.
var (
	counted = []string{
		"--algorithm bully --nodes 2 --epochs 1",
		"--algorithm bully --nodes 2 --epochs 2 --crashes 1",
		"--algorithm bully --nodes 2 --epochs 3 --crashes 1 --false-suspicions 1",
		"--algorithm bully --nodes 3 --epochs 1 --start-agreed --crashes 1",
		"--algorithm bully --nodes 3 --epochs 2 --start-agreed --false-suspicions 1",
		"--algorithm ring --nodes 2 --epochs 2 --crashes 1",
		"--algorithm ring --nodes 3 --epochs 1",
		"--algorithm ring --nodes 3 --epochs 1 --crashes 1",
		"--algorithm ring --nodes 3 --epochs 2 --start-agreed --crashes 1 --false-suspicions 1",
		"--algorithm ring --nodes 4 --epochs 1",
		"--algorithm vote --nodes 2 --epochs 1 --periodic-sends 1",
		"--algorithm vote --nodes 3 --epochs 2 --periodic-sends 1 --start-agreed",
		"--algorithm textbook-bully --nodes 3 --epochs 2 --crashes 1 --property durable",
	}
	countedLarge = []string{
		"--algorithm ring --nodes 2 --epochs 3 --crashes 2 --false-suspicions 1",
		"--algorithm ring --nodes 3 --epochs 2",
		"--algorithm ring --nodes 3 --epochs 2 --crashes 1",
		"--algorithm bully --nodes 2 --epochs 3 --crashes 2 --false-suspicions 2",
		"--algorithm bully --nodes 3 --epochs 2 --start-agreed --crashes 1",
		"--algorithm bully --nodes 3 --epochs 3 --start-agreed --false-suspicions 1",
		"--algorithm bully --nodes 4 --epochs 2 --start-agreed --false-suspicions 1",
		"--algorithm ring --nodes 3 --epochs 3 --start-agreed --crashes 1",
		"--algorithm ring --nodes 4 --epochs 1 --crashes 1",
		"--algorithm ring --nodes 4 --epochs 2 --start-agreed --crashes 1 --false-suspicions 1",
	}
)

const (
	countsFile = "testdata/explore.golden"
	countsHead = `# What elect explore counts with these flags. Each search is complete, and nothing that
# the algorithm claims is broken. -update rewrites it, with -long completely.
`
)

// TestCountsOfStates compares the number of states of each algorithm with the golden file. With -long it runs all
// searches, which takes a minute and 1 GiB.
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
			t.Errorf("counted\n%swant (-update rewrites it)\n%s", line, kept[flags])
		}
		kept[flags] = line
	}
	counts := countsHead + "    states   generated  depth  with leader  flags\n"
	for _, flags := range append(counted[:len(counted):len(counted)], countedLarge...) {
		require.NotEmpty(t, kept[flags], "%s is not in %s: write it with -update -long", flags, countsFile)
		counts += kept[flags]
	}
	if *update {
		require.NoError(t, os.WriteFile(countsFile, []byte(counts), 0o644))
	} else if !t.Failed() {
		require.Equal(t, counts, string(text), "%s holds something else than counts", countsFile)
	}
}
