package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/result"
)

// markup is text that the page must escape.
const markup = `<script>alert('1')&"</script>`

// file returns a results file with a few results of each group.
func file() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# elect bench\n# not measured: %s\ncpu: %s\nseed: 1\n\n", markup, markup)
	trial := func(name string, values ...any) {
		fmt.Fprintf(&text, "Benchmark%s 1 %s", name, fmt.Sprintln(values...))
	}
	for n, sent := range map[int]int{9: 71, 17: 271, 33: 1055} {
		trial(fmt.Sprintf("Election/algorithm=textbook-bully/case=worst/n=%d-2", n), sent, result.MetricSent, 4, result.MetricTurnaround)
	}
	for _, sent := range []int{30, 33, 40} {
		trial("Election/algorithm=ring/case=all-start/n=9", sent, result.MetricSent)
		trial("Election/algorithm=omega/case=all-start/n=9", sent, result.MetricSent) // not in the theory
	}
	for _, ms := range []float64{2, 2.5, 3, 300} {
		trial("Failover/algorithm=bully/signal=kill/n=5", ms, result.MetricFailover)
		trial("Failover/algorithm="+strings.ReplaceAll(markup, "/", "")+"/signal=kill/n=5", 2*ms, result.MetricFailover)
	}
	trial("Failover/algorithm=bully/signal=<b>/n=3", 0, result.MetricFailover)
	trial("Failover/algorithm=bully/signal=term/n=3", 7, result.MetricFailover)
	trial("Cost/algorithm=bully/fault=kill/host=simulator/n=5", 2, result.MetricUnled, 0, result.MetricTwo)
	trial("Cost/algorithm=bully/fault=flap/host=processes/n=5", 2, result.MetricUnled)
	trial("Detector/condition=late/adapts=true/timeout=250ms/host=simulator", 200, result.MetricDetection, 14, result.MetricMistakes)
	trial("Detector/condition=calm/adapts=true/timeout=250ms/host=simulator", 200, result.MetricDetection, 0, result.MetricMistakes)
	for _, n := range []int{5, 15, 45} {
		trial(fmt.Sprintf("Steady/algorithm=vote/n=%d", n), 1.5, result.MetricFrames, 0.2, result.MetricProcessor)
	}
	for _, watchers := range []int{0, 100, 1000} {
		trial(fmt.Sprintf("Watchers/algorithm=bully+lease/watchers=%d", watchers), 880+watchers/10, "failover-p50-ms", 1+watchers, "lost-p99-ms")
	}
	trial("Steady/algorithm=vote/growth", 1, "exponent") // as go test prints it
	return text.String()
}

func pageOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trials.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	var page bytes.Buffer
	require.NoError(t, write(&page, path))
	return page.String()
}

// TestPageContainsAllSections checks the elements of the page. The page needs no network and contains no markup from
// the results.
func TestPageContainsAllSections(t *testing.T) {
	page := pageOf(t, file())
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	elements := make(map[string]int)
	var captions []string
	for inCaption := false; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			inCaption = token.Name.Local == "figcaption"
			for _, a := range token.Attr {
				require.NotContains(t, []string{"src", "href", "onclick", "onload"}, a.Name.Local)
			}
		case xml.CharData:
			if inCaption {
				captions = append(captions, string(token))
			}
		case xml.EndElement:
			inCaption = false
		}
	}
	require.Zero(t, elements["script"]+elements["b"]+elements["link"]+elements["img"]+elements["iframe"])
	require.Equal(t, []string{
		"The worst case", "All start", "The worst case", "After a kill", "After a graceful stop", "After a kill: ms without a reachable leader",
		"Messages are late", "bully+lease", "A node: frames sent in a heartbeat interval", "A node: percent of a core",
	}, captions, "a mere zero is not drawn")
	require.Equal(t, len(captions), elements["svg"])
	require.Equal(t, 5, elements["table"])
	require.NotContains(t, page, markup)
	require.NotContains(t, page, "url(")
	require.NotContains(t, page, "@import")
	require.Less(t, strings.Index(page, "<svg"), strings.Index(page, "<table"), "plots come first")
}

func TestFileInOtherFormatIsRejected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, []byte("no results"), 0o600))
	require.ErrorIs(t, write(io.Discard, path), result.ErrFormat)
	require.ErrorIs(t, write(io.Discard, path+"y"), os.ErrNotExist)
}
