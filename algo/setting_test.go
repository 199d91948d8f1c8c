package algo_test

import (
	"testing"

	"github.com/elect-go/elect/algo"
)

func TestSettingErrorNamesPlaceAndField(t *testing.T) {
	file, flag := algo.Origin{Source: "file", Name: "elect.yaml", Line: 7}, algo.Origin{Source: "flag", Name: "--x"}
	for want, e := range map[string]algo.SettingError{
		`elect.yaml:7: priority is "high", want a number`: {Field: "priority", Origin: file, Got: `"high"`, Want: "a number"},
		`--x is "high", want a number`:                    {Field: "priority", Origin: flag, Got: `"high"`, Want: "a number"},
		`--x: join[0] is "a"`:                             {Field: "join[0]", Origin: flag, Got: `"a"`},
		`nam is not a field, did you mean name?`:          {Field: "nam", Got: "not a field", Want: "this", Suggestion: "name"},
		`elect.yaml:7: no YAML`:                           {Origin: file, Got: "no YAML"},
		`there is too much`:                               {Got: "there is too much"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
}
