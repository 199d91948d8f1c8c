package archtest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/archtest"
)

// TestCeilings prints the lines of each room with -v.
func TestCeilings(t *testing.T) {
	root, err := archtest.Root()
	if err != nil {
		t.Fatal(err)
	}
	watch(t, root)
	page, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := archtest.Rooms(string(page))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := archtest.Lines(root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, archtest.CountLines(rooms, lines))
	for _, room := range rooms {
		t.Logf("%-14s %6d lines, ceiling %6d", room.Name, room.Lines, room.Ceiling)
	}
}

func TestRooms(t *testing.T) {
	const table = "| room | what counts | ceiling | later |\n|---|---|---|---|\n" +
		"| **node** | `algo/...`, `fd`, but not `algo/x/...` | 1,000 | 2,000 |\n| **rest** | `algo/x/...` | none | none |\n"
	rooms, err := archtest.Rooms(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		lines map[string]int
		wrong []string
	}{
		{"below", map[string]int{"algo/a.go": 400, "algo/y/a.go": 100, "fd/fd.go": 500, "algo/x/z/x.go": 9000}, nil},
		{"above", map[string]int{"algo/a.go": 501, "fd/fd.go": 500, "algo/x/x.go": 1}, []string{"node has 1001 lines, its ceiling is 1000"}},
		{"nowhere", map[string]int{"algo/a.go": 1, "fd/fd.go": 1, "fd/x/a.go": 1, "algo/x/x.go": 1}, []string{"fd/x is in 0 rooms, want it in one"}},
		{"nothing", map[string]int{"algo/a.go": 1, "algo/x/x.go": 1}, []string{"fd is in the table of rooms, and has no Go"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := archtest.CountLines(slices.Clone(rooms), test.lines); !slices.Equal(got, test.wrong) {
				t.Errorf("complaints %q, want %q", got, test.wrong)
			}
		})
	}
	for _, bad := range []string{"", strings.ReplaceAll(table, "1,000", "many"), strings.ReplaceAll(table, "`", ""), strings.ReplaceAll(table, "1,000", "0")} {
		if rooms, err := archtest.Rooms(bad); err == nil {
			t.Errorf("Rooms(%q) = %v, want an error", bad, rooms)
		}
	}
}
