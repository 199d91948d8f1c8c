package untrusted_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/untrusted"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"no room: größer als 5":  "no room: größer als 5",
		"\x1b[2Jgone\r\nlevel=x": "�[2Jgone��level=x",
		"\u202eback":             "�back", // writes from right to left
		"not text: \xff":         "not text: �",
	} {
		require.Equal(t, want, untrusted.Printable(text))
	}
}

func TestTruncate(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""}, {"four", "four"}, {"fives", "five"}, {"é", "é"}, {"aéé", "aé"}, {"aaéé", "aaé"}, {"\xff", "�"}, {"aa\xff", "aa"},
	} {
		require.Equal(t, test.want, untrusted.Truncate(test.text, 4), "%q", test.text)
	}
}
