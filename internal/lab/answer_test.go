package lab_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/lab"
)

// A page gets the result, or each mistake with its place.
func TestAnswer(t *testing.T) {
	answer := func(decode func(any) error) (string, error) {
		result, err := lab.Calls()["run"](t.Context(), decode, build)
		return string(lab.Answer(result, err)), err
	}
	request := func(scenario string) func(any) error {
		return func(into any) error { into.(*lab.Request).Scenario = scenario; return nil }
	}
	got, err := answer(request(worst))
	require.NoError(t, err)
	require.Equal(t, string(lab.JSON(run(t, worst))), got)

	got, err = answer(request("cluster 3\nrun fast\n"))
	require.Error(t, err)
	require.Regexp(t, `^\{"problems":\[\{"line":2,"column":5,"text":".*"\}\]\}$`, got)

	got, err = answer(func(any) error { return errors.New("no number") })
	require.ErrorIs(t, err, lab.ErrRequest)
	require.JSONEq(t, `{"problems":[{"line":0,"column":0,"text":"the request has another form: no number"}]}`, got)
}
