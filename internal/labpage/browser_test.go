package labpage_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/web"
)

// view is what the page showed at one point of web/browser/lab.mjs.
type view struct {
	Title, Status, Counts, Details, Scenario, Back        string
	Problems, Properties, Nodes, Steps, Current           []string
	Messages, Lost, Later, Leads, Broken, Unnamed, Images int
	Wide                                                  bool
}

// The page shows a run step by step, with keys and pointer, and forks it at a fault.
func TestPageInBrowser(t *testing.T) {
	server := httptest.NewServer(web.AllowHosts(newHandler(t)))
	defer server.Close()
	cmd := testkit.Browser(t, "../../web/browser/lab.mjs", server.URL+"/")
	out, err := cmd.Output()
	require.NoError(t, err)
	var seen struct {
		First, Third, Hover, Crashed, Undone, Example, Broken, Mistake, Untrusted, Linked view
		PhoneLight                                                                        view `json:"phone_light"`
		PhoneDark                                                                         view `json:"phone_dark"`
		Errors, Others                                                                    []string
	}
	require.NoError(t, json.Unmarshal(out, &seen))
	require.Empty(t, seen.Errors)
	require.Empty(t, seen.Others, "the page sends requests only to its server")

	first := seen.First
	require.Equal(t, "Step 22 of 22 · 19 messages so far · 4 T so far", first.Counts)
	require.Equal(t, 19, first.Messages)
	require.Equal(t, 4, first.Lost)
	require.Equal(t, 1, first.Leads)
	require.Zero(t, first.Later)
	require.Len(t, first.Steps, 22, "each step is in the list")
	require.Equal(t, "✓ Holds", first.Status)
	require.Contains(t, first.Nodes, "n4 ★ leads in epoch 6")
	require.Contains(t, first.Nodes, "n5 ✕ down")

	require.Contains(t, seen.Third.Counts, "Step 4 of 22 · 11 messages so far · 1 T")
	require.Equal(t, []string{first.Steps[3]}, seen.Third.Current)
	require.Equal(t, 18, seen.Third.Later)
	require.Contains(t, seen.Third.Details, "Sent when n1 suspects n5")
	require.Contains(t, seen.Third.Details, "election\t\"\"\t\"answer\"")
	require.Contains(t, seen.Hover.Details, "election n1 → n2")
	require.Contains(t, seen.Hover.Details, "n2 changed:")

	require.Contains(t, seen.Crashed.Scenario, "run 40ms\ncrash n4\nrun 160ms\n")
	require.Contains(t, seen.Crashed.Nodes, "n4 ✕ down")
	require.Equal(t, "✗ Does not hold", seen.Crashed.Status)
	require.Contains(t, seen.Crashed.Problems[0], "line 15")
	require.Equal(t, first.Scenario, seen.Undone.Scenario)
	require.Equal(t, first.Steps, seen.Undone.Steps)

	require.NotEqual(t, first.Title, seen.Example.Title)
	require.Equal(t, 1, seen.Broken.Broken)
	require.Contains(t, strings.Join(seen.Broken.Properties, "\n"), "✗ no-phantom: ")
	require.Contains(t, seen.Mistake.Problems[0], "line 2, column 5")
	require.Equal(t, seen.Broken.Steps, seen.Mistake.Steps, "the picture stays")
	require.Contains(t, seen.Untrusted.Title, "<img src=x")
	require.Zero(t, seen.Untrusted.Images)

	linked := seen.Linked
	require.Equal(t, seen.Crashed.Scenario, linked.Scenario)
	require.Equal(t, seen.Crashed.Counts, linked.Counts)
	require.Equal(t, linked.Back, seen.PhoneDark.Back)
	require.NotEqual(t, first.Back, linked.Back)
	for name, v := range map[string]view{"first": first, "example": seen.Example, "linked": linked, "phone": seen.PhoneLight, "dark phone": seen.PhoneDark} {
		require.False(t, v.Wide, "%s: it does not fit the width", name)
		require.Zero(t, v.Unnamed, "%s: an input has no name", name)
	}
}
