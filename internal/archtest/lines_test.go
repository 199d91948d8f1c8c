package archtest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxCommentLine is the maximum length of a comment line in characters. A tab is one character.
const maxCommentLine = 120

// outputStart matches the first line of the output of an example. The output ends with its comment.
var outputStart = regexp.MustCompile(`(?i)^// (unordered )?output:`)

// longComments returns the lines of a Go file that contain only a comment and are too long. It ignores the comments
// that do not begin with a space, which are directives or code, and the output of examples.
func longComments(text []byte) (problems []string) {
	lines := strings.Split(string(text), "\n")
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	outputLine := -1 // last line of an output
	for {
		pos, kind, comment := s.Scan()
		if kind == token.EOF {
			return problems
		}
		if kind != token.COMMENT {
			continue
		}
		number := file.Line(pos)
		if outputLine == number-1 || outputStart.MatchString(comment) {
			outputLine = number
			continue
		}
		line := strings.TrimRight(lines[number-1], "\r")
		length := utf8.RuneCountInString(line)
		if strings.HasPrefix(strings.TrimSpace(line), "// ") && length > maxCommentLine {
			problems = append(problems, fmt.Sprintf("line %d has %d characters", number, length))
		}
	}
}

func TestCommentsFitScreen(t *testing.T) {
	forEachFile(t, "../..", func(path string, text []byte) {
		if filepath.Ext(path) != ".go" {
			return
		}
		for _, problem := range longComments(text) {
			t.Errorf("%s: %s, want a comment of at most %d: wrap the whole paragraph", path, problem, maxCommentLine)
		}
	})
}

func TestLongCommentsAreFound(t *testing.T) {
	long := strings.Repeat("é", maxCommentLine-len("// ")) // as long as a comment may be
	for _, test := range []struct {
		name, text, want string
	}{
		{"a comment that fits", "// " + long, "[]"},
		{"one character more", "package p\n\n// " + long + "é\n", "[line 3 has 121 characters]"},
		{"an indent", "package p\n\nfunc f() {\n\t// " + long + "\n}\n", "[line 4 has 121 characters]"},
		{"a carriage return", "// " + long + "\r\n", "[]"},
		{"a directive", "//go:embed " + long, "[]"},
		{"code", "//\t" + long + long, "[]"},
		{"a comment behind code", "package p // " + long, "[]"},
		{"text in quotes", "package p\n\nconst text = `\n// " + long + long + "`\n", "[]"},
		{"output", "package p\n\nfunc f() {\n\t// Output:\n\t// " + long + "\n}\n\n// " + long + long + "\n", "[line 8 has 237 characters]"},
	} {
		if got := fmt.Sprint(longComments([]byte(test.text))); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
