package algotest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// patch is a unified diff. What stands before its first header is text.
type patch struct {
	text  string
	files []filePatch
}

// filePatch is the diff of one file.
type filePatch struct {
	path  string // from the root of the module
	hunks []hunk
}

// hunk is one place of it.
type hunk struct {
	at    int      // the line where it begins in the file, from 1
	rest  string   // of its header, after the numbers
	lines []string // each with ' ', '-' or '+' before it
}

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@(.*)$`)

// parsePatch reads a unified diff.
func parsePatch(diff string) (*patch, error) {
	p := &patch{}
	var text []string
	var file *filePatch
	for line := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		path, header := strings.CutPrefix(line, "--- a/")
		place := hunkHeader.FindStringSubmatch(line)
		switch {
		case header:
			p.files = append(p.files, filePatch{path: path})
			file = &p.files[len(p.files)-1]
		case file == nil:
			text = append(text, line)
		case place != nil:
			at, _ := strconv.Atoi(place[1])
			file.hunks = append(file.hunks, hunk{at: at, rest: place[2]})
		case len(file.hunks) == 0 && line == "+++ b/"+file.path:
		case len(file.hunks) == 0 || line == "" || !strings.Contains(" -+", line[:1]):
			return nil, fmt.Errorf("%q is no line of a unified diff", line)
		default:
			last := &file.hunks[len(file.hunks)-1]
			last.lines = append(last.lines, line)
		}
	}
	if file == nil {
		return nil, fmt.Errorf("there is no diff")
	}
	p.text = strings.Join(text, "\n")
	return p, nil
}

// changed is how many lines the patch changes: one that is replaced is one.
func (p *patch) changed() (count int) {
	for _, file := range p.files {
		for _, h := range file.hunks {
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
	}
	return count
}

// side is the text of a hunk before ('-') or after ('+') the change.
func (h hunk) side(kept byte) (lines []string) {
	for _, line := range h.lines {
		if line[0] == ' ' || line[0] == kept {
			lines = append(lines, line[1:])
		}
	}
	return lines
}

// apply returns the file after the patch, and gives each hunk the number of the line where
// it was found. The lines of a hunk must stand in the file once.
func (p *filePatch) apply(source string) (string, error) {
	lines := strings.Split(source, "\n")
	shift := 0 // of the lines, by the hunks before
	for i := range p.hunks {
		h := &p.hunks[i]
		before, after := h.side('-'), h.side('+')
		found := places(lines, before)
		if len(found) != 1 {
			return "", fmt.Errorf("%s: these lines stand there %d times, want once:\n%s", p.path, len(found), strings.Join(before, "\n"))
		}
		h.at = found[0] + 1 - shift
		shift += len(after) - len(before)
		lines = slices.Replace(lines, found[0], found[0]+len(before), after...)
	}
	return strings.Join(lines, "\n"), nil
}

// places are where a text begins.
func places(lines, text []string) (found []int) {
	for i := 0; i+len(text) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(text)], text) {
			found = append(found, i)
		}
	}
	return found
}

// String is the diff again.
func (p *patch) String() string {
	var b strings.Builder
	b.WriteString(p.text + "\n")
	for _, file := range p.files {
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", file.path, file.path)
		shift := 0
		for _, h := range file.hunks {
			before, after := len(h.side('-')), len(h.side('+'))
			fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@%s\n%s\n", h.at, before, h.at+shift, after, h.rest, strings.Join(h.lines, "\n"))
			shift += after - before
		}
	}
	return b.String()
}
