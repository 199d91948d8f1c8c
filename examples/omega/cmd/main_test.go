package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
)

// mainEnv makes the test program run the command instead of its tests.
const mainEnv = "TEST_MAIN_OF_OMEGA"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// elect runs the command in a process of its own, and decodes what it prints.
func elect[T any](t *testing.T, args ...string) (printed T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainEnv+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &printed), "%s", out)
	return printed
}

func TestProcessesElectByOmega(t *testing.T) {
	round := elect[struct {
		Algorithm string
		OldLeader string `json:"old_leader"`
		NewLeader string `json:"new_leader"`
		Messages  map[string]int
	}](t, "demo", "--algorithm", "omega", "--nodes", "3", "--json")
	require.Equal(t, "omega+lease", round.Algorithm)
	require.Equal(t, "n3", round.OldLeader, "the highest leads")
	require.Equal(t, "n2", round.NewLeader)
	require.Positive(t, round.Messages["omega/lead"])
}

func TestOmegaIsSimulated(t *testing.T) {
	election := elect[struct {
		Algorithm string
		Leader    int
		Agreed    bool
		Kinds     map[string]int
	}](t, "sim", "--algorithm", "omega", "--nodes", "5", "--crashed", "1", "--json")
	require.Equal(t, "omega", election.Algorithm)
	require.Equal(t, 4, election.Leader, "the highest that lives")
	require.True(t, election.Agreed)
	require.Positive(t, election.Kinds["omega/lead"])
}

func TestOmegaIsSearched(t *testing.T) {
	search := elect[struct {
		Algorithm  string
		Options    map[string]string
		Complete   bool
		Leaders    int `json:"states_with_leader"`
		Violations []any
	}](t, "explore", "--algorithm", "omega", "--option", "repeat_interval=9s", "--nodes", "3", "--epochs", "1", "--json")
	require.Equal(t, "omega", search.Algorithm)
	require.Equal(t, map[string]string{"repeat_interval": "9s"}, search.Options)
	require.True(t, search.Complete)
	require.Positive(t, search.Leaders)
	require.Empty(t, search.Violations)
}

func TestOmegaIsMeasuredBesideOthers(t *testing.T) {
	run := elect[struct {
		Trials []struct{ Name string }
	}](t, "bench", "--short", "--groups", "election", "--json")
	for _, algorithm := range []string{"omega", "vote"} {
		require.True(t, slices.ContainsFunc(run.Trials, func(trial struct{ Name string }) bool {
			return strings.Contains(trial.Name, "/algorithm="+algorithm+"/")
		}), algorithm)
	}
}

func TestOmegaIsConfigured(t *testing.T) {
	fields := elect[[]struct {
		Field, Flag string
		Words       []string
	}](t, "config", "example", "--json")
	found := make(map[string]string)
	for _, f := range fields {
		found[f.Field] = f.Flag
		if f.Field == "algorithm" {
			require.Len(t, f.Words, len(builtin.Registry())+1)
			require.Contains(t, f.Words, "omega")
		}
	}
	require.Equal(t, "--omega-repeat-interval", found["omega.repeat_interval"])
}
