package mutants

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var storms = flag.Bool("storms", false, "ask which faults in membership and engine the storms of sim find, a quarter of an hour long")

// What storms find beside what the tests do is said by a flag, and is a table in
// docs/guarantees.md: the heads name what must catch a mutant.
func TestStorms(t *testing.T) {
	if !*storms {
		t.Skip("say -storms: each of the mutants goes through the storms of sim, which takes long")
	}
	found, tried := 0, 0
	for _, m := range read(t) {
		room := m.room()
		if room != "membership" && room != "engine" || m.why != "" || strings.HasSuffix(m.diff.files()[0], "_test.go") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			files, err := m.changed()
			if err != nil {
				t.Fatal(err)
			}
			tried++
			ran := goTest(t, files, "./sim", []string{"TestStorms"}, "-timeout=1m")
			var broken []string
			for _, match := range violation.FindAllStringSubmatch(strings.Join(outputs(ran), ""), -1) {
				broken = append(broken, match[1])
			}
			slices.Sort(broken)
			switch {
			case ran.broken:
				t.Errorf("it does not compile:\n%s", ran)
			case ran.late:
				broken = []string{"they do not come to an end"}
			}
			if len(broken) > 0 {
				found++
				what, _, _ := strings.Cut(m.diff.text, "\n")
				t.Logf("FOUND %s | %s | %s", m.name, what, strings.Join(slices.Compact(broken), ", "))
			}
		})
	}
	t.Logf("storms find %d of %d", found, tried)
}

// violation is one in the error of a storm.
var violation = regexp.MustCompile(`sim: storm of seed \d+:\n\s+\S+: ([a-z-]+):`)

func outputs(ran outcome) (all []string) {
	for _, text := range ran.output {
		all = append(all, text)
	}
	return all
}
