package trace_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/sim"
	"github.com/elect-go/elect/trace"
)

// crash returns a diagram in which bully replaces a crashed leader.
func crash(t *testing.T) *trace.Diagram {
	t.Helper()
	d := &trace.Diagram{}
	election(sim.Options{Spec: spec(t, "textbook-bully", nil), Nodes: 3, Crashed: 1, Initiators: []int{1}, Delay: sim.Fixed(T)})(t, d)
	return d
}

// TestSVGIsWellFormed checks a few texts only. A test of package cli compares the drawings of docs/lessons.
func TestSVGIsWellFormed(t *testing.T) {
	text := crash(t).SVG("<title> & more")
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
	for _, want := range []string{"&lt;title&gt; &amp; more", ">election: 3 sent, 2 lost<", ">answer: 1 sent<", ">coordinator: 1 sent<", ">n2: leads in epoch 4<"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "%!")
}

func TestMermaidHasEachMessage(t *testing.T) {
	require.Equal(t, `sequenceDiagram
    participant n1
    participant n2
    participant n3
    Note over n3: is down
    Note over n1: suspects n3: it crashed
    n1->>n2: election
    Note over n2: suspects n3: it crashed
    n1-xn3: election
    Note over n3: not running
    n2->>n1: answer
    n2-xn3: election
    Note over n3: not running
    Note over n2: timer answer ends, leads in epoch 4
    n2->>n1: coordinator e4
    Note over n1: follows n2 in epoch 4
`, crash(t).Mermaid())
}

func TestDiagramEndsAtUntil(t *testing.T) {
	d := crash(t)
	moments := d.Moments()
	require.Len(t, moments, 5)
	d.Until = moments[0]
	require.Equal(t, moments[:1], d.Moments())
	text := d.String()
	require.Contains(t, text, "┄", "the sent message has not arrived")
	require.NotContains(t, text, "answer ends")
}
