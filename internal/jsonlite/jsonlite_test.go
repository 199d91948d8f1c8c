package jsonlite_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/jsonlite"
)

// data has a field of each kind.
type data struct {
	Text   string   `json:"text"`
	Yes    bool     `json:"yes,omitempty"`
	Int    int      `json:"int"`
	Small  uint8    `json:"small"`
	Float  float64  `json:"float"`
	List   []string `json:"list,omitempty"`
	Any    any      `json:"any,omitempty"`
	Inner  *data    `json:"inner"`
	Inners []data   `json:"inners"`
	Never  int      `json:"-"`
}

// read has types of fields that jsonlite reads and does not write.
type read struct {
	Raw  json.RawMessage            `json:"raw"`
	Map  map[string]json.RawMessage `json:"map"`
	Data data                       `json:"data"`
	More []map[string]int           `json:"more"`
}

func requireMarshal(t *testing.T, v any) {
	t.Helper()
	want, err := json.Marshal(v)
	require.NoError(t, err)
	require.Equal(t, string(want), string(jsonlite.Marshal(v)))
}

func TestMarshal(t *testing.T) {
	type plain struct {
		List  []string `json:"list,omitempty"`
		Any   any      `json:"any,omitempty"`
		Yes   bool     `json:"yes,omitempty"`
		Count uint64   `json:"count"`
		Inner *plain   `json:"inner"`
		Never int      `json:"-"`
		inner int
	}
	requireMarshal(t, nil)
	requireMarshal(t, []plain{{}, {List: []string{}}, {[]string{"a"}, plain{}, true, 1<<64 - 1, &plain{}, 1, 1}})
	requireMarshal(t, []float64{0, 1, -0.5, 1e20, 1e21, -1e300, 1e-6, 9.9e-7, 1e-10, 2.5, 100})
	for _, v := range []any{struct{ NoTag int }{}, math.Inf(1), math.NaN(), map[string]int{}, func() {}} {
		require.Panics(t, func() { jsonlite.Marshal(v) })
	}
}

func FuzzMarshalText(f *testing.F) {
	f.Add("</script><!-- & 'x' \"y\" \\ \u2028 \u2029 \x00\x1f\x7f \b\f\n\r\t é \U0001F600 \xff\xc3 \ufffd")
	f.Fuzz(func(t *testing.T, text string) { requireMarshal(t, text) })
}

var (
	valid = []string{
		`{"data":{"text":"a\n\u00e9\ud83d\ude00\ud83d \\ \/ é","yes":true,"int":-7,"small":255,"float":1.5e3,"list":["a",null],"inner":{"int":1},"inners":[{},{"int":2}]}}`,
		`{"raw":{"a":[1, 2]},"map":{"x": "y" ,"z":null}, "more":[{"a":1},null]} `, "null", "{}", " { } ", `{"data":null,"raw":null}`,
		`{"none":[{"a":"b"},-0.5e-3,true]}`, `{"data":{"text":"` + "\xff" + `"}}`, `{"data":{"-":1,"list":[],"yes":false}}`,
		`{"data":{"text":"\ud83d\u0041\ud83d\ud83d\ude00\udc00\ud83d"}}`,
	}
	invalid = []string{
		"", "{", "[]", `{"raw":`, `{"raw":01}`, `{"raw":-}`, `{"raw":1.}`, `{"raw":"a`, `{"raw":"\x"}`, "{\"raw\":\"\n\"}", `{"data":{"small":256}}`,
		`{"data":{"int":1.5}}`, `{"data":{"text":1}}`, `{"data":{"yes":"true"}}`, `{"data":[]}`, `{"raw":1,}`, `[1,]`, `{"raw":1}x`, `{"raw":tru}`,
		`{"data" 1}`, `{"more":{}}`, "\x00", "{}\x00", `{"raw":"\u12"}`, `{1:2}`,
	}
)

// Unmarshal reads the same as encoding/json from any text that both accept. They accept the same texts, except for
// names of fields in capitals or with escapes.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range append(valid, invalid...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want, got read
		wantErr, err := json.Unmarshal([]byte(text), &want), jsonlite.Unmarshal([]byte(text), &got)
		if wantErr == nil && err == nil {
			require.Equal(t, want, got)
		}
		isExact := strings.ToLower(text) == text && !strings.Contains(text, `\u`) // encoding/json ignores the case of names
		if isExact {
			require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
		}
	})
}

func TestUnmarshal(t *testing.T) {
	for _, text := range valid {
		var want, got read
		require.NoError(t, json.Unmarshal([]byte(text), &want), text)
		require.NoError(t, jsonlite.Unmarshal([]byte(text), &got), text)
		require.Equal(t, want, got, text)
	}
	for _, text := range invalid {
		require.Error(t, json.Unmarshal([]byte(text), new(read)), text)
		require.Error(t, jsonlite.Unmarshal([]byte(text), new(read)), text)
	}
}

func TestUnmarshalIntoGivenTargets(t *testing.T) {
	var raw json.RawMessage
	inner := data{Int: 3, Text: "before"}
	v := data{Any: &raw, Inner: &inner}
	require.NoError(t, jsonlite.Unmarshal([]byte(`{"any":{"b":1},"inner":{"int":4}}`), &v))
	require.Equal(t, `{"b":1}`, string(raw))
	require.Equal(t, data{Int: 4, Text: "before"}, inner)
	require.NoError(t, jsonlite.Unmarshal([]byte(`{"inner":null}`), &v))
	require.Nil(t, v.Inner)
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"text":1}`:                      "byte 8: want a text in quotes",
		`{"small":256}`:                   "byte 9: want a value of the type uint8",
		`{"text":"a"`:                     "byte 11: want a comma or the end of the object",
		strings.Repeat(`{"x":`, 2000):     "want at most 1000 values inside of each other",
		strings.Repeat(`{"inner":`, 2000): "want at most 1000 values inside of each other",
		`{"inners":[{},{"yes":1}]}`:       "byte 21: want true or false",
	} {
		require.ErrorContains(t, jsonlite.Unmarshal([]byte(text), &data{}), want)
	}
	require.NoError(t, jsonlite.Unmarshal([]byte(`{"txet":1}`), &data{}))
	require.EqualError(t, jsonlite.UnmarshalStrict([]byte(`{"txet":1}`), &data{}), `byte 8: want no field "txet"`)
}
