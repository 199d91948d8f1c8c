package labpage_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/labpage"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/web"
)

// BenchmarkPointer measures how long the main thread of the page works after a move of the pointer, with 7 nodes and
// 500 messages: in the median, in 95 of 100 moves, and at most. See docs/benchmarks.md.
//
//	go test ./internal/labpage -long -run xxx -bench Pointer -benchtime 1x
func BenchmarkPointer(b *testing.B) {
	h, err := labpage.New(b.Context(), build)
	require.NoError(b, err)
	server := httptest.NewServer(web.AllowHosts(h))
	defer server.Close()
	for _, gesture := range []string{"hover", "drag"} {
		b.Run("gesture="+gesture, func(b *testing.B) {
			var times []float64 // ms
			for b.Loop() {
				times = append(times, pointerTimes(b, server.URL, gesture)...)
			}
			slices.Sort(times)
			at := func(percent int) float64 { return times[min(len(times)*percent/100, len(times)-1)] }
			b.ReportMetric(0, "ns/op") // hides the time of the browser and its start
			b.ReportMetric(at(50), "p50-ms/event")
			b.ReportMetric(at(95), "p95-ms/event")
			b.ReportMetric(at(100), "max-ms/event")
		})
	}
}

// pointerTimes returns the time in ms after each move of a gesture.
func pointerTimes(b *testing.B, url, gesture string) []float64 {
	out, err := testkit.Browser(b, "../../web/browser/pointer.mjs", url+"/#"+gesture).Output()
	require.NoError(b, err)
	var seen struct {
		Messages, Lanes int
		Times           []float64
	}
	require.NoError(b, json.Unmarshal(out, &seen))
	require.Equal(b, 7, seen.Lanes)
	require.GreaterOrEqual(b, seen.Messages, 500)
	require.Len(b, seen.Times, 200, "a trace of each move")
	return seen.Times
}
