package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elect-go/elect/internal/scenario"
)

func TestSyntaxErrorHasLineAndColumn(t *testing.T) {
	for _, test := range []struct {
		text         string
		line, column int
		want         string
	}{
		{"", 0, 0, "want a cluster"},
		{"# nothing\n", 0, 0, "want a cluster"},
		{"cluster 5\nrnu 1s", 2, 1, "rnu 1s: not understood, want run, perhaps"},
		{"cluster 5\nledaer n1", 2, 1, "want leader, perhaps"},
		{"cluster 5\njump n1", 2, 1, "want one of algorithm, at, await, campaign, cancel-crashes, cancel-remove,"},
		{"mode choice\ncluster 5\nexpires n1 x", 3, 1, "want expire, perhaps"},
		{"run 1s\ncluster 5", 1, 1, "want a cluster first"},
		{"cluster", 1, 1, "want a whole number that is not negative (cluster COUNT [PRIORITY…])"},
		{"cluster five", 1, 9, "want a whole number that is not negative"},
		{"cluster 5 x", 1, 11, "want a whole number (cluster"},
		{"cluster 5\ncluster 5", 2, 1, "want one cluster; line 1 has it"},
		{"cluster 5\nrun soon", 2, 5, "want a time, such as 1.5s, of at most 500000h (run TIME)"},
		{"cluster 5\nrun -1s", 2, 5, "want a time"},
		{"cluster 5\nrun 500001h", 2, 5, "want a time"},
		{"cluster 5\nrun 300000h\nrun 300000h", 3, 1, "want times that are at most 500000h together"},
		{"cluster 5\nrun 99999999999999999999s", 2, 5, "want a time"},
		{"cluster 5\ncrash", 2, 1, "want a node, such as n5 (crash NODE, or crash NODE after save, or crash NODE after COUNT)"},
		{"cluster 5\ncrash 5", 2, 7, "want a node, such as n5"},
		{"cluster 5\ncrash n0", 2, 7, "want a node, such as n5"},
		{"cluster 5\ncrash n05", 2, 7, "want a node, such as n5"},
		{"cluster 5\ncrash n99999999999", 2, 7, "want a node, such as n5"},
		{"cluster 5\ncrash n5 after then", 2, 16, "want save or a whole number that is not negative"},
		{"cluster 5\nresume n5 n6", 2, 11, "want the end of the line (resume NODE)"},
		{"cluster 5\n  resign\tn5", 2, 8, "want a time"},
		{"cluster 5\npartition n1,n2 n3,x", 2, 17, "want nodes with commas, such as n1,n2 (partition [GROUP…])"},
		{"cluster 5\nheal all", 2, 6, "want the end of the line (heal)"},
		{"cluster 5\nfollows n1", 2, 9, "want a node, such as n5 or none"},
		{"cluster 5\nseed 1", 2, 1, "want it before the cluster, which is in line 1"},
		{"seed 1\nseed 2\ncluster 5", 2, 1, "want it once; line 1 has it"},
		{"option a=1\noption b=1\noption a=2\ncluster 5", 3, 1, "want it once; line 1 has it"},
		{"seed x\ncluster 5", 1, 6, "want a whole number that is not negative"},
		{"loss 110%\ncluster 5", 1, 6, "want a probability, such as 0.05 or 5%"},
		{"loss NaN\ncluster 5", 1, 6, "want a probability"},
		{"option x\ncluster 5", 1, 8, "want NAME=VALUE"},
		{"option =x\ncluster 5", 1, 8, "want NAME=VALUE"},
		{"timing fast\ncluster 5", 1, 8, "want local or lan or wan or NAME=TIME, such as timeout=380ms"},
		{"timing timeout=0s\ncluster 5", 1, 8, "want local or lan"},
		{"seed 1\nmode choice\ncluster 5", 2, 1, "want it before everything else"},
		{"cluster 5\ndeliver n1 n2 x", 2, 1, "want it in mode choice only"},
		{"mode choice\ncluster 5\nrun 1s", 3, 1, "want it in mode time only"},
		{"> 1s\ncluster 5", 1, 1, "want a command above its output"},
		{"cluster 5\n\n> 1s", 3, 1, "want a command above its output"},
		// Only U+0020 and tabs separate words, and text must be printable.
		{"cluster 5\nrun\u00a01s", 2, 4, "want what can be printed, and spaces U+0020: this is U+00A0"},
		{"cluster 5\nleader n1\x00", 2, 10, "this is U+0000"},
		{"cluster\u200b 5", 1, 8, "this is U+200B"},
		{"cluster 5\rrun 1s", 1, 10, "this is U+000D"},
		{"cluster 5\nà run\xff", 2, 6, "want text: the byte 0xff is none"},
		{"algorithm \"a\u00a0b\"\ncluster 5", 1, 11, "this is U+00A0, and \\u00a0 stands for it"},
		{"algorithm \"bully\ncluster 5", 1, 11, "want an end of the quoted text"},
		{"algorithm \"a\"b\ncluster 5", 1, 11, "want NAME"},
		{"cluster 5\n# " + strings.Repeat("x", 1<<14), 2, 0, "want at most 16384 bytes in a line, it has 16386"},
		{"cluster 5\nrun " + strings.Repeat("9", 1<<13), 2, 5, "999…: not understood"},
		{"cluster 5\npartition " + strings.Repeat("{", 1<<13), 2, 11, "want nodes with commas"},
	} {
		_, err := scenario.Parse("test", test.text)
		found, ok := errors.AsType[*scenario.Error](err)
		if !ok || found.Line != test.line || found.Column != test.column || !errors.Is(err, scenario.ErrSyntax) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60q: error %.300v, want one in line %d, column %d that says %q", test.text, err, test.line, test.column, test.want)
		}
	}
}

func TestSyntaxErrorsAreReportedTogetherUpToLimit(t *testing.T) {
	_, err := scenario.Parse("test", "cluster 5\n"+strings.Repeat("jump\n", 1000))
	if err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.HasSuffix(err.Error(), "and 980 more errors") {
		t.Errorf("%v", err)
	}
	if _, err = scenario.Parse("test", strings.Repeat("\n", scenario.MaxText+1)); err == nil || !strings.Contains(err.Error(), "want at most 64 MiB") {
		t.Errorf("%v", err)
	}
}

func TestParseReadsArguments(t *testing.T) {
	f, err := scenario.Parse("test", "option a=\"b # c\" # d\ntiming timeout=5s\nloss 5%\r\ncluster 3 -1 0 2\npartition n1,n2 n3\nlink n1 n2 1ms~2s\n# end\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range f.Lines {
		if l.Form == nil {
			got = append(got, l.Text)
			continue
		}
		got = append(got, l.Form.Usage)
		for _, a := range l.Args {
			got = append(got, fmt.Sprint(a.Name, " ", a.Text, a.Node, a.Nodes, a.Number, a.Count, a.Time, a.Share))
		}
	}
	want := []string{
		"option NAME=VALUE", "a b # c0 [] 0 0 0s 0",
		"timing NAME=TIME", "timeout 5s0 [] 0 0 5s 0",
		"loss PROBABILITY", " 5%0 [] 0 0 0s 0.05",
		"cluster COUNT [PRIORITY…]", " 30 [] 0 3 0s 0", " -10 [] -1 0 0s 0", " 00 [] 0 0 0s 0", " 20 [] 2 0 0s 0",
		"partition [GROUP…]", " n1,n20 [1 2] 0 0 0s 0", " n30 [3] 0 0 0s 0",
		"link FROM TO DELAY", " n11 [] 0 0 0s 0", " n22 [] 0 0 0s 0", " 1ms~2s0 [] 0 0 0s 0",
		"# end",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

func TestDocumentationContainsReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	if reference := scenario.Reference(); !strings.Contains(string(text), reference) {
		t.Errorf("docs/scenarios.md does not contain:\n%s", reference)
	}
	for _, f := range scenario.Language {
		if f.Help == "" || f.Modes == 0 || !f.Head && !f.Body {
			t.Errorf("incomplete form in the reference: %+v", f)
		}
	}
	if got := strings.Count(scenario.Reference(), "\n  "); got != len(scenario.Language)+4 { // four forms are listed twice
		t.Errorf("%d forms of a reference with %d", len(scenario.Language), got)
	}
}

// FuzzParse checks that any text is parsed or rejected with a place.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"../../sim/testdata/*.txt", "../../explore/testdata/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal("no scenarios", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	for _, text := range []string{"à la carte\n", "\xa0", "✅ done", "cluster 1\x85", "\"a\u00a0b\"#c", `"\`, "cluster 2\n>\n> \x00", "option a=\"\"\ncluster 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := scenario.Parse("fuzz", text)
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v and error %v", file, err)
		}
		if err != nil {
			at, ok := errors.AsType[*scenario.Error](err)
			if lines := strings.Count(text, "\n") + 1; !ok || at.Line < 0 || at.Line > lines || at.Column > 1<<14 || !errors.Is(err, scenario.ErrSyntax) {
				t.Fatalf("error %v of %d lines", err, lines)
			}
			return
		}
		// The text of the parsed lines must parse again.
		var again strings.Builder
		for _, l := range file.Lines {
			again.WriteString(l.Text + "\n")
		}
		if _, err := scenario.Parse("fuzz", again.String()); err != nil {
			t.Errorf("%v\nin %q", err, again.String())
		}
	})
}

func FuzzQuote(f *testing.F) {
	for _, text := range []string{"", "plain", "a b", `"`, "a=b", "é\u00a0", "\xff", ">", "n1,n2", "#"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := scenario.Unquote(scenario.Quote(text)); err != nil || got != text {
			t.Errorf("%q comes back as %q, %v", text, got, err)
		}
		file, err := scenario.Parse("fuzz", "option name="+scenario.Quote(text)+"\ncluster 1\n")
		if err == nil && file.Lines[0].Args[0].Text != text {
			t.Errorf("%q is read as %q", text, file.Lines[0].Args[0].Text)
		} else if err != nil && len(scenario.Quote(text)) < 1<<14-100 {
			t.Errorf("%q: %v", text, err)
		}
	})
}
