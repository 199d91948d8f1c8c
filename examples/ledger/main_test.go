package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var lasts = flag.Duration("for", 10*time.Second, "how long leaders are disturbed, with the gate")

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "member" { // the driver starts this binary
		main()
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

func sqliteFile(t *testing.T) string { return filepath.Join(t.TempDir(), "ledger.sqlite") }

// databases runs a test with each database of this machine.
func databases(t *testing.T, test func(t *testing.T, db string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteFile(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, postgres(t)) })
}

func ledgerOf(t *testing.T, s settings, lasts time.Duration) findings {
	t.Helper()
	found, err := drive(context.Background(), s, t.TempDir(), func(d *driver) error { return d.disturb(lasts) })
	require.NoError(t, err)
	t.Log(found)
	return found
}

// Leaders are stopped between their check and their write, disconnected, and killed. No entry of an
// older leader follows an entry of a newer one.
func TestLedgerWithGate(t *testing.T) {
	databases(t, func(t *testing.T, db string) {
		found := ledgerOf(t, settings{db: db, gate: true, algorithm: "vote"}, *lasts/2)
		require.Empty(t, found.late)
		require.Empty(t, found.shared, "with vote, each token belongs to one leader")
		require.GreaterOrEqual(t, found.leaders, 3)
	})
}

// Without the gate, the first leader that is stopped before its write writes after its successor.
func TestLedgerWithoutGate(t *testing.T) {
	for _, algorithm := range []string{"vote", "bully"} {
		t.Run(algorithm, func(t *testing.T) {
			found := ledgerOf(t, settings{db: sqliteFile(t), algorithm: algorithm}, 0)
			require.NotEmpty(t, found.late)
		})
	}
}

func TestCheckReportsLateAndSharedEntries(t *testing.T) {
	for name, test := range map[string]struct {
		entries      []entry
		leaders      int
		late, shared []entry
	}{
		"nothing":               {nil, 0, nil, nil},
		"one after another":     {[]entry{{1, 1, "a", ""}, {2, 1, "a", ""}, {3, 4, "b", ""}}, 2, nil, nil},
		"an older leader":       {[]entry{{1, 1, "a", ""}, {2, 4, "b", ""}, {3, 1, "a", ""}, {4, 4, "b", ""}}, 2, []entry{{3, 1, "a", ""}}, nil},
		"two with one token":    {[]entry{{1, 1, "a", ""}, {2, 1, "b", ""}}, 1, nil, []entry{{2, 1, "b", ""}}},
		"all after a newer one": {[]entry{{1, 4, "b", ""}, {2, 1, "a", ""}, {3, 3, "c", ""}}, 3, []entry{{2, 1, "a", ""}, {3, 3, "c", ""}}, nil},
		"another scope":         {[]entry{{1, 9, "a", "x"}, {2, 9, "a", "x"}, {3, 2, "b", "y"}, {4, 10, "a", "x"}}, 3, nil, nil},
		"two scopes at once": {[]entry{{1, 9, "a", "x"}, {2, 2, "b", "y"}, {3, 9, "a", "x"}, {4, 2, "b", "y"}, {5, 3, "b", "y"}}, 3,
			[]entry{{3, 9, "a", "x"}}, nil},
	} {
		found := check(test.entries)
		require.Equal(t, findings{len(test.entries), test.leaders, test.late, test.shared}, found, name)
	}
}
