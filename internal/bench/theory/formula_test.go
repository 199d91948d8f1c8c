package theory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormulas(t *testing.T) {
	e := Election{N: 5, Crashed: 1, Initiators: []int{2}, RoundTrip: 3} // m = 4, k = 3, d = 2
	for text, want := range map[Formula]float64{
		"7": 7, "N": 5, "2N−1": 9, "N−1−1": 3, "N²−N−1": 19, "(N−1)(N−2)/2": 6, "k(k−1)/2 + kf": 6, "N/2/5": 0.5, "2·N": 10,
		"(m−1)²": 9, "T+RTT/2": 2.5, "(2m+d−1)T": 9, "6H(N)": 13.7, "i": 2, "a": 2, "l": 1, "u": 1, "m−i": 2,
	} {
		require.InDelta(t, want, text.At(e), 1e-9, text)
	}
	for _, wrong := range []Formula{"", "N+", "(N", "N)", "N x", "+", "2³"} {
		require.Panics(t, func() { wrong.At(e) }, wrong)
	}
}

// TestMalformedPagePanics: the program reports a malformed page at its start.
func TestMalformedPagePanics(t *testing.T) {
	const conventions = "\n## Conventions\n| algorithms | convention |\n| x | detector | words | | each message | | |\n"
	row := func(cells string) string {
		return conventions + "\n## x\n| head |\n|---|\n| case | " + cells + " | a 1 | 1 | 1 | 0 | T | N | | me |\n"
	}
	rows := read(row("detector | f = 0, N ≥ 2 | N ≥ 3, f = 0, i = N−1"))
	require.Len(t, rows, 1)
	e, possible := rows[0].Typical(4)
	require.True(t, possible)
	require.Equal(t, Election{N: 4, Initiators: []int{3}}, e)
	_, possible = rows[0].Typical(2)
	require.False(t, possible)
	require.False(t, rows[0].Holds(Election{N: 1}))
	require.False(t, rows[0].Holds(Election{N: 3, Crashed: 1}))
	require.Panics(t, func() { read(row("gossip | f = 0 | f = 0")) }, "no such convention")
	require.Panics(t, func() { read(row("detector | f | f = 0")) }, "no condition")
}
