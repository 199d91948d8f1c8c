package lab_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/lab"
)

func requireJSON(t *testing.T, v any) {
	t.Helper()
	want, err := json.Marshal(v)
	require.NoError(t, err)
	require.Equal(t, string(want), string(lab.JSON(v)))
}

func TestJSONIsThatOfTheLibrary(t *testing.T) {
	requireJSON(t, nil)
	requireJSON(t, lab.Result{})
	requireJSON(t, &lab.Result{Steps: []lab.Step{}, Failure: &lab.Problem{Line: -1}, Spans: []lab.Span{{Epoch: 1<<64 - 1}, {}}})
	requireJSON(t, run(t, worst))
	requireJSON(t, lab.Reject("want %q", "<a & b>"))
	type options struct {
		List  []string `json:"list,omitempty"`
		Any   any      `json:"any,omitempty"`
		Yes   bool     `json:"yes,omitempty"`
		Count uint8    `json:"count"`
		inner int
	}
	requireJSON(t, []options{{}, {List: []string{}}, {[]string{"a"}, lab.Field{}, true, 255, 1}})
	requireJSON(t, []float64{0, 1, -0.5, 1e20, 1e21, -1e300, 1e-6, 9.9e-7, 1e-10, 2.5, 100})
	for _, v := range []any{struct{ NoTag int }{}, math.Inf(1), math.NaN(), map[string]int{}, func() {}} {
		require.Panics(t, func() { lab.JSON(v) })
	}
}

func FuzzJSONOfText(f *testing.F) {
	f.Add("</script><!-- & 'x' \"y\" \\ \u2028 \u2029 \x00\x1f\x7f \b\f\n\r\t é \U0001F600 \xff\xc3 \ufffd")
	f.Fuzz(func(t *testing.T, text string) { requireJSON(t, text) })
}
