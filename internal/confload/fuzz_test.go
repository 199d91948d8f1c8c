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

// A file may contain anything. Either Node reports problems, in text that is safe to show, or the settings in effect,
// written as a file, have the same effect.
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
			reread := builtins.load("reread.yaml", written(s), nil, nil)
			if _, err := reread.Node(); err != nil {
				t.Fatalf("%s\nis not accepted: %v", written(s), err)
			}
			if changed := reread.Changed(s); len(changed) > 0 {
				t.Fatalf("%s\nhas other values of %v", written(s), changed)
			}
			return
		}
		wrong, ok := errors.AsType[*diag.Error](err)
		if !ok || len(wrong.Problems) == 0 || len(wrong.Problems) > diag.MaxProblems {
			t.Fatalf("the error is %v", err)
		}
		for _, m := range wrong.Problems {
			text := m.Error()
			if text == "" || len(text) > 2000 || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Fatalf("the text is %q", text)
			}
		}
	})
}

// written returns a file that sets every field to its value. The lease is a section, or the word off.
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
