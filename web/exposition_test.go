package web

import (
	"bytes"
	"math"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

func TestLabelsAreEscaped(t *testing.T) {
	var e exposition
	values := []string{"a \"b\" \\ c\nd", "n\xffx", ""}
	e.add(gauge("odd", `Help with "quotes".`, "text", "bytes", "empty"), math.Inf(1), values...)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(&e.text)
	require.NoError(t, err)
	require.Equal(t, `Help with "quotes".`, all["elect_odd"].GetHelp())
	m := all["elect_odd"].GetMetric()[0]
	require.Equal(t, math.Inf(1), m.GetGauge().GetValue())
	for i, want := range []string{values[0], "n\uFFFDx", ""} {
		require.Equal(t, want, m.GetLabel()[i].GetValue())
	}
}

func TestHistogramIsCumulative(t *testing.T) {
	took := &metric{name: "took_seconds", kind: "histogram", help: "Time.", buckets: []float64{0.5, 1}}
	var h histogram
	for _, seconds := range []float64{0.25, 0.5, 0.75, 4} {
		h.observe(took, seconds)
	}
	var e, before exposition
	e.addHistogram(took, h)
	const description = "# HELP elect_took_seconds Time.\n# TYPE elect_took_seconds histogram\n"
	require.Equal(t, description+`elect_took_seconds_bucket{le="0.5"} 2
elect_took_seconds_bucket{le="1"} 3
elect_took_seconds_bucket{le="+Inf"} 4
elect_took_seconds_sum 5.5
elect_took_seconds_count 4
`, e.text.String())
	before.addHistogram(took, histogram{})
	require.True(t, bytes.HasSuffix(before.text.Bytes(), []byte("elect_took_seconds_bucket{le=\"+Inf\"} 0\nelect_took_seconds_sum 0\nelect_took_seconds_count 0\n")))
}
