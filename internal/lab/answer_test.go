package lab_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/lab"
)

// A page receives the result, or each problem with its place.
func TestAnswer(t *testing.T) {
	answer := func(request string) (string, error) {
		result, err := lab.Calls()["run"](t.Context(), []byte(request), build)
		return string(lab.Answer(result, err)), err
	}
	request, err := json.Marshal(lab.Request{Scenario: worst})
	require.NoError(t, err)
	got, err := answer(string(request))
	require.NoError(t, err)
	want, err := json.Marshal(run(t, worst))
	require.NoError(t, err)
	require.Equal(t, string(want), got)

	got, err = answer(`{"scenario":"cluster 3\nrun fast\n"}`)
	require.Error(t, err)
	require.Regexp(t, `^\{"problems":\[\{"line":2,"column":5,"text":".*"\}\]\}$`, got)

	for _, request := range []string{`{"scenarios":""}`, `{"scenario":1}`, "", "null x"} {
		got, err = answer(request)
		require.ErrorIs(t, err, lab.ErrRequest)
		require.Contains(t, got, `{"problems":[{"line":0,"column":0,"text":"the request has another form: byte `)
	}
}
