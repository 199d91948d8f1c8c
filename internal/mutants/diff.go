// Package mutants checks that the tests catch a violation of each rule of a protocol.
//
// A mutant is the code without one rule. It is a diff in testdata, in the folder of its
// subject:
//
//	A member acknowledges no config of a term below its own epoch.
//
//	reason: Without it, a member that has helped to elect a newer leader also commits the config of the older one.
//	caught by: ./internal/membership TestVoterAcknowledgesInTerm
//	--- internal/membership/reconfig.go
//	@@ func (m *Dynamic) sendAck
//	-	isInTerm := taken <= m.config.ID.Term || !m.keeps(r4)
//	+	isInTerm := taken <= m.config.ID.Term || true
//
// The first line states the rule. Each test of "caught by", separated by ", ", must fail
// with the mutant and pass without it. A mutant of an algorithm may name checks of
// algo/algotest as well, or only these:
//
//	caught by the suite: loss, failover
//
// Exactly these checks must fail. A mutant fails its test if it is not caught, does not
// compile, does not end, or no longer fits the code.
//
// Plain go test checks that each diff fits, that the named tests exist, and that
// docs/rules.md lists all rules; with -update it writes that page. The mutants run with
//
//	go test -v ./internal/mutants -long
//
// and those of one folder with -run 'TestMutants/all/fd/'.
//
// A mutant is worth a diff only if it removes a rule of a protocol. A generator makes any
// number of other mutants, and reports those that no test catches:
//
//	go run github.com/go-gremlins/gremlins/cmd/gremlins@latest unleash ./algo/bully
package mutants

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

// algorithms are the mutants that exercises plant.
//
//go:embed testdata/algo testdata/bully testdata/ring testdata/vote
var algorithms embed.FS

// Of returns the diff of a mutant of an algorithm, such as "bully/says-it-once".
func Of(name string) (*Diff, error) {
	source, err := algorithms.ReadFile(path.Join("testdata", name+".diff"))
	if err != nil {
		return nil, err
	}
	return ParseDiff(string(source))
}

// Diff is a unified diff without line numbers. It finds the lines to change by their text, so
// it still fits after code has moved.
//
//	The lines before the first file are text.
//	--- fd/fd.go
//	@@ func (d *Detector) Wake
//	 a line that stays
//	-a line that goes
//	+a line that comes
//
// The text after "@@ " is the beginning of a declaration. The lines must occur exactly once in
// that declaration, or in the whole file if there is no such text.
type Diff struct {
	text  string
	hunks []hunk
}

// hunk is one changed place of a diff.
type hunk struct {
	path  string   // of the file, from the root of the module
	in    string   // beginning of the declaration
	lines []string // each begins with ' ', '-' or '+'
}

// ParseDiff parses the text of a diff file.
func ParseDiff(source string) (*Diff, error) {
	d := &Diff{}
	var text []string
	file, open := "", false // open: a hunk has begun
	for line := range strings.SplitSeq(strings.TrimSuffix(source, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "--- "):
			file, open = line[len("--- "):], false
		case file == "":
			text = append(text, line)
		case strings.HasPrefix(line, "@@"):
			d.hunks = append(d.hunks, hunk{path: file, in: strings.TrimSpace(line[len("@@"):])})
			open = true
		case !open || line == "" || !strings.Contains(" -+", line[:1]):
			return nil, fmt.Errorf("%q is no line of a diff: want --- file, @@ declaration, or a line after ' ', '-' or '+'", line)
		default:
			last := &d.hunks[len(d.hunks)-1]
			last.lines = append(last.lines, line)
		}
	}
	for _, h := range d.hunks {
		if len(h.side('-')) == 0 || slices.Equal(h.side('-'), h.side('+')) {
			return nil, fmt.Errorf("%s: a place that changes nothing, or has nothing to be found by: %q", h.path, h.lines)
		}
	}
	if !open {
		return nil, fmt.Errorf("there is no change")
	}
	d.text = strings.TrimSpace(strings.Join(text, "\n"))
	return d, nil
}

// Files returns the paths of the changed files.
func (d *Diff) Files() []string {
	var paths []string
	for _, h := range d.hunks {
		paths = append(paths, h.path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// changed returns the number of changed lines. A replaced line counts once.
func (d *Diff) changed() (count int) {
	for _, h := range d.hunks {
		removed, added := 0, 0
		for _, line := range h.lines {
			switch line[0] {
			case '-':
				removed++
			case '+':
				added++
			}
		}
		count += max(removed, added)
	}
	return count
}

// side returns the lines of a hunk before ('-') or after ('+') the change.
func (h hunk) side(kept byte) (lines []string) {
	for _, line := range h.lines {
		if line[0] == ' ' || line[0] == kept {
			lines = append(lines, line[1:])
		}
	}
	return lines
}

// Apply returns the text of a file after the change.
func (d *Diff) Apply(file, source string) (string, error) {
	lines := strings.Split(source, "\n")
	for _, h := range d.hunks {
		if h.path != file {
			continue
		}
		from, to, err := h.within(lines)
		if err != nil {
			return "", err
		}
		before := h.side('-')
		found := places(lines[from:to], before)
		if len(found) != 1 {
			return "", fmt.Errorf("%s: in %q these lines stand %d times, want once:\n%s", file, h.in, len(found), strings.Join(before, "\n"))
		}
		at := from + found[0]
		lines = slices.Replace(lines, at, at+len(before), h.side('+')...)
	}
	return strings.Join(lines, "\n"), nil
}

// within returns the range of lines of the hunk's declaration.
func (h hunk) within(lines []string) (from, to int, err error) {
	if h.in == "" {
		return 0, len(lines), nil
	}
	var starts []int
	for i, line := range lines {
		if strings.HasPrefix(line, h.in) {
			starts = append(starts, i)
		}
	}
	if len(starts) != 1 {
		return 0, 0, fmt.Errorf("%s: %d declarations begin with %q, want one", h.path, len(starts), h.in)
	}
	from = starts[0]
	to = from + 1
	if last := lines[from]; strings.HasSuffix(last, "{") || strings.HasSuffix(last, "(") {
		for to < len(lines) && !strings.HasPrefix(lines[to], "}") && !strings.HasPrefix(lines[to], ")") {
			to++
		}
	}
	return from, to, nil
}

// places returns the indexes at which text occurs in lines.
func places(lines, text []string) (found []int) {
	for i := 0; i+len(text) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(text)], text) {
			found = append(found, i)
		}
	}
	return found
}
