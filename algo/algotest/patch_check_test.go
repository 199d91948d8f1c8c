package algotest_test

import (
	"strings"
	"testing"
)

const (
	source = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
	change = `What is wrong.
--- a/x.go
+++ b/x.go
@@ -2,2 +2,3 @@ func f() {
 two
-three
+3
+3 again
@@ -7,2 +8,1 @@
 seven
-eight
`
)

func TestAPatchIsApplied(t *testing.T) {
	p, err := parsePatch(change)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.files[0].apply(source)
	if want := "one\ntwo\n3\n3 again\nfour\nfive\nsix\nseven\nnine\n"; err != nil || got != want {
		t.Errorf("patched it is %q, error %v, want %q", got, err, want)
	}
	if changed := p.changed(); changed != 3 {
		t.Errorf("%d lines are changed, want 3: one replaced, one added, one removed", changed)
	}
	if p.text != "What is wrong." || p.String() != change {
		t.Errorf("the text is %q, the patch again is\n%s", p.text, p)
	}
}

// A source that has moved is found, and the patch knows where.
func TestAPatchFindsItsLines(t *testing.T) {
	p, err := parsePatch(change)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.files[0].apply("zero\n" + source); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@@ -3,2 +3,3 @@ func f() {\n", "@@ -8,2 +9,1 @@\n"} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("the patch is now\n%swant %q in it", p, want)
		}
	}
}

func TestAPatchThatDoesNotFitSaysSo(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"gone", strings.Replace(source, "three", "drei", 1), "stand there 0 times, want once:\ntwo\nthree"},
		{"twice", source + source, "stand there 2 times"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := parsePatch(change)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.files[0].apply(test.source); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestWhatIsNoPatchIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no diff":                 "What is wrong.\n",
		"a line before a hunk":    "--- a/x.go\n+++ b/x.go\nthree\n",
		"a line without its sign": "--- a/x.go\n+++ b/x.go\n@@ -1,1 +1,1 @@\nthree\n",
		"another file":            "--- a/x.go\n+++ b/y.go\n@@ -1,1 +1,1 @@\n-three\n+3\n",
	} {
		if p, err := parsePatch(text); err == nil {
			t.Errorf("%s: it is read as\n%s", name, p)
		}
	}
}
