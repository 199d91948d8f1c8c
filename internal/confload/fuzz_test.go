package confload

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/elect-go/elect/internal/diag"
)

// A file may hold anything. Either every mistake is said, in words that are safe to show;
// or what is in effect, written down as a file, says the same again.
func FuzzFile(f *testing.F) {
	var example bytes.Buffer
	if err := builtins.Example(&example); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		wholeFile, example.String(), uncommented(example.String()), "a: [\n", "join: &a [*a]\n", "timing: &t {preset: lan}\nbully: {<<: *t}\n",
		"name: !!binary YQ==\n", "? [a]\n: b\n", "name: \"\\x1b[2J\"\n", "priority: 1_000\n", "join: [\"a,b\"]\n", "~: ~\n",
		"vote: {window: 1h}\n", "data_dir: \"null\"\nname: a\n", "---\n---\n",
		"data_dir: d\nlease: {clock_drift: 0, margin: 0s}\n", "data_dir: d\nlease: {}\n", "lease: false\n", "lease: off\n", "lease:\n",
	} {
		f.Add([]byte(text))
	}
	where := []string{"ELECT_LISTEN=127.0.0.1:0", "ELECT_NAME=a"}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := builtins.load("elect.yaml", text, where, nil)
		_, err := s.Node()
		if err == nil {
			again := builtins.load("again.yaml", written(s), nil, nil)
			if _, err := again.Node(); err != nil {
				t.Fatalf("%s\nis not taken again: %v", written(s), err)
			}
			if changed := again.Changed(s); len(changed) > 0 {
				t.Fatalf("%s\nread again has other values of %v", written(s), changed)
			}
			return
		}
		wrong, ok := errors.AsType[*diag.Error](err)
		if !ok || len(wrong.Mistakes) == 0 || len(wrong.Mistakes) > diag.Most {
			t.Fatalf("it says %v", err)
		}
		for _, m := range wrong.Mistakes {
			said := m.Error()
			if said == "" || len(said) > 2000 || !utf8.ValidString(said) || strings.ContainsFunc(said, unicode.IsControl) {
				t.Fatalf("it says %q", said)
			}
		}
	})
}

// written is a file that gives every field its value: to the lease the section, or off.
func written(s *Settings) []byte {
	var b strings.Builder
	section := ""
	for _, e := range s.Effective() {
		if s.Lease == "on" && e.Field.Name == leasePart || s.Lease == "off" && e.Field.Part == leasePart {
			continue
		}
		if in := e.Field.section(); in != section {
			section = in
			fmt.Fprintf(&b, "%s:\n", strings.TrimSuffix(section, "."))
		}
		if section != "" {
			b.WriteString("  ")
		}
		fmt.Fprintf(&b, "%s: %s\n", strings.TrimPrefix(e.Field.Name, section), e.Text())
	}
	return []byte(b.String())
}
