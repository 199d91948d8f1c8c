package labpage_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/web"
)

// view is what the page showed at one point of web/browser/lab.mjs.
type view struct {
	Title, Status, Counts, Details, Scenario, Back        string
	Leaders, Theory, Found, Taken, Mode                   string
	Problems, Properties, Nodes, Steps, Current           []string
	Choices, Timers                                       []string
	Messages, Lost, Later, Leads, Broken, Unnamed, Images int
	Wide                                                  bool
}

// besideView is what the page showed of another algorithm beside the run.
type besideView struct {
	Title, Counts, Status string
	Messages, Later, Down int
	Beside, Wide          bool
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
		Delayed, Lost, Lane, Keyed, Choice, Chose, Stepped, Forked, Returned              view
		Dropped, Delivered, Found, None, Goal, Traced                                     view
		TimeAgain                                                                         view `json:"time_again"`
		ChoiceLinked                                                                      view `json:"choice_linked"`
		ChoiceLight                                                                       view `json:"choice_light"`
		ChoiceDark                                                                        view `json:"choice_dark"`
		Moves, Hovers                                                                     struct {
			Reads, Touched, Added int
			Label                 string
		}
		Beside           besideView
		BesideFirst      besideView `json:"beside_first"`
		BesideCrashed    besideView `json:"beside_crashed"`
		BesideImpossible besideView `json:"beside_impossible"`
		BesideLinked     besideView `json:"beside_linked"`

		Bounds         []int
		Saved          string
		Errors, Others []string
	}
	require.NoError(t, json.Unmarshal(out, &seen))
	require.Empty(t, seen.Errors)
	require.Empty(t, seen.Others, "the page sends requests only to its server")

	require.Equal(t, besideView{Title: "textbook-ring", Counts: "0 messages so far · – No node leads", Down: 1, Beside: false}, seen.Beside, "in the textbook, only the node before n5 in the ring notices the crash")
	require.Zero(t, seen.BesideFirst.Later)
	require.Equal(t, 2, seen.BesideCrashed.Down, "a fault applies to both runs")
	require.Equal(t, "✗ Not run: vote is not possible here", seen.BesideImpossible.Status)
	require.Equal(t, seen.BesideCrashed.Counts, seen.BesideLinked.Counts)
	require.False(t, seen.BesideLinked.Wide)

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

	require.Contains(t, first.Theory, "N²−N−1 = 19 messages, 19 so far · 2T+RTT = 4 T, 4 so far")
	require.Equal(t, "★ n4 leads", first.Leaders)
	require.Contains(t, strings.Join(seen.Third.Timers, "\n"), "◷ Timers: answer, ends in 1 T")

	require.Equal(t, 1, seen.Hovers.Touched, "a pointer over a message changes the line above the picture")
	require.Zero(t, seen.Hovers.Reads, "and reads no layout")
	require.Zero(t, seen.Hovers.Added, "and keeps the elements of the text about the message before")
	require.Equal(t, []int{0, 0}, seen.Bounds, "what is above the picture covers all of it, wherever the line is")
	require.Contains(t, seen.Hovers.Label, "election n1 → n3")
	require.Zero(t, seen.Moves.Reads, "a move reads no layout")
	require.Equal(t, 2, seen.Moves.Touched, "a move changes a line and its label")
	require.Contains(t, seen.Moves.Label, "takes ")
	require.Contains(t, seen.Delayed.Scenario, "run 999ms\ndelay-next n1 n2 election ")
	require.Contains(t, seen.Lost.Scenario, "\ndrop-next n1 n2 election\n")
	require.Less(t, seen.Lost.Messages, first.Messages, "n2 does not take part")
	require.Regexp(t, `\nrun [\d.]+[mu]s\ncrash n3\nrun `, seen.Lane.Scenario)
	require.Contains(t, seen.Lane.Nodes, "n3 ✕ down")
	require.Contains(t, seen.Keyed.Scenario, "\ndrop-next n1 n")

	choice := seen.Choice
	require.Equal(t, "Choice", choice.Mode)
	require.Empty(t, choice.Steps)
	require.Contains(t, choice.Scenario, "mode choice\nalgorithm bully\noption head_start=0s\nstart-agreed\ncluster 3\n")
	require.Contains(t, choice.Choices, "suspect n1 n3 wrongly")
	require.Equal(t, "★ n3 leads", choice.Leaders)
	require.Equal(t, []string{"1  n3 is down", "2  n1 suspects n3"}, seen.Chose.Steps)
	require.Equal(t, "– No node leads", seen.Chose.Leaders)
	require.Contains(t, seen.Chose.Choices, "deliver n1 n2 election epoch=1")
	require.Contains(t, strings.Join(seen.Chose.Timers, "\n"), "◷ Timers: answer")
	require.Equal(t, "suspect n1 n3", seen.Stepped.Taken)
	require.Equal(t, seen.Chose.Steps, seen.Stepped.Steps)
	require.Len(t, seen.Forked.Steps, 2)
	require.NotEqual(t, seen.Chose.Steps, seen.Forked.Steps)
	require.Equal(t, seen.Chose.Steps, seen.Returned.Steps)
	require.True(t, strings.HasSuffix(seen.Dropped.Scenario, "\ndrop n1 n2 election epoch=1\n"), seen.Dropped.Scenario)
	require.Equal(t, 1, seen.Dropped.Lost)
	require.True(t, strings.HasSuffix(seen.Delivered.Scenario, "\ndeliver n1 n2 election epoch=1\n"), seen.Delivered.Scenario)

	found := seen.Found
	require.Contains(t, found.Found, "✗ n2 leads in epoch 2, and n3 leads in epoch 1, after 1 more step.")
	require.Equal(t, "✗ 2 lead now: n2, n3", found.Leaders)
	require.Contains(t, strings.Join(found.Properties, "\n"), "✗ single-leader: ")
	require.Contains(t, seen.None.Found, "✓ No such run within these budgets: all ")
	require.Equal(t, found.Steps, seen.None.Steps, "the picture stays")
	require.Contains(t, seen.Goal.Leaders, "n2")
	require.True(t, strings.HasSuffix(seen.Goal.Scenario, "\nfollows n2 n2\n"), seen.Goal.Scenario)
	require.Equal(t, "Time", seen.TimeAgain.Mode)
	saved, err := explore.ParseScenario("saved", seen.Saved, func(name string, options []algo.Setting) (algo.Spec, error) {
		return build(name, algo.Timing{}, options)
	})
	require.NoError(t, err)
	_, err = saved.Replay()
	require.NoError(t, err)
	require.Contains(t, seen.Saved, "\nviolates single-leader\n")
	require.Equal(t, found.Steps, seen.ChoiceLinked.Steps)
	require.Equal(t, found.Counts, seen.ChoiceLinked.Counts)
	require.Equal(t, "✓ 2 nodes, 4 steps", seen.Traced.Status)
	require.Equal(t, 1, seen.Traced.Messages)
	require.Empty(t, seen.Traced.Mode)
	require.Equal(t, "★ n2 leads", seen.Traced.Leaders)

	linked := seen.Linked
	require.Equal(t, seen.Crashed.Scenario, linked.Scenario)
	require.Equal(t, seen.Crashed.Counts, linked.Counts)
	require.Equal(t, linked.Back, seen.PhoneDark.Back)
	require.NotEqual(t, first.Back, linked.Back)
	for name, v := range map[string]view{
		"first": first, "example": seen.Example, "linked": linked, "phone": seen.PhoneLight, "dark phone": seen.PhoneDark, "choice": seen.Chose, "found": found,
		"choice on a wide screen": seen.ChoiceLinked, "choice on a phone": seen.ChoiceLight, "choice on a dark phone": seen.ChoiceDark, "trace": seen.Traced,
	} {
		require.False(t, v.Wide, "%s: it does not fit the width", name)
		require.Zero(t, v.Unnamed, "%s: an input has no name", name)
	}
}
