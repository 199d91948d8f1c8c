package mutants

import (
	"strings"
	"testing"
)

const (
	source = `package x

func one() {
	begin()
	end()
}

func two() {
	begin()
	end()
}

func three() int { return 3 }
`
	change = `What is wrong.
--- x.go
@@ func two(
 	begin()
-	end()
+	stop()
+	stop()
@@
-func three() int { return 3 }
`
)

func TestDiffIsApplied(t *testing.T) {
	d, err := ParseDiff(change)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Apply("x.go", source)
	want := strings.Replace(source, "func two() {\n\tbegin()\n\tend()", "func two() {\n\tbegin()\n\tstop()\n\tstop()", 1)
	want = strings.Replace(want, "func three() int { return 3 }\n", "", 1)
	if err != nil || got != want {
		t.Errorf("changed it is %q, error %v, want %q", got, err, want)
	}
	if d.text != "What is wrong." || d.changed() != 3 {
		t.Errorf("the text is %q and %d lines are changed, want 3: one replaced, one added, one removed", d.text, d.changed())
	}
	if got, err := d.Apply("y.go", source); err != nil || got != source {
		t.Errorf("another file becomes %q, error %v", got, err)
	}
}

func TestDiffThatDoesNotFitIsReported(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"its lines are gone", strings.ReplaceAll(source, "end()", "halt()"), "stand 0 times, want once:\n\tbegin()\n\tend()"},
		{"its lines stand twice", strings.ReplaceAll(source, "\tend()\n", "\tend()\n\tbegin()\n\tend()\n"), "stand 2 times"},
		{"its declaration is gone", strings.ReplaceAll(source, "two", "deux"), `0 declarations begin with "func two("`},
		{"its declaration stands twice", source + source, `2 declarations begin with "func two("`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := ParseDiff(change)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Apply("x.go", test.source); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestInvalidDiffIsRejected(t *testing.T) {
	for name, text := range map[string]string{
		"no diff":                 "What is wrong.\n",
		"no place":                "--- x.go\n",
		"a line before a place":   "--- x.go\nthree\n",
		"a line without its sign": "--- x.go\n@@\nthree\n",
		"nothing changes":         "--- x.go\n@@\n-three\n+three\n",
		"nothing to find it by":   "--- x.go\n@@\n+three\n",
	} {
		if d, err := ParseDiff(text); err == nil {
			t.Errorf("%s: it is read as %+v", name, d)
		}
	}
}
