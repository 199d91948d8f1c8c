package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLadderNamesFunctions checks the second column of the tables in from-textbook-to-production.md. Each name of Go
// code in it is a function, a type, a field or a constant of the algorithm of the section.
func TestLadderNamesFunctions(t *testing.T) {
	page, err := os.ReadFile("from-textbook-to-production.md")
	require.NoError(t, err)
	named := 0
	for _, algorithm := range []string{"Bully", "Ring", "Vote"} {
		_, section, found := strings.Cut(string(page), "\n## "+algorithm+"\n")
		require.True(t, found, algorithm)
		section, _, _ = strings.Cut(section, "\n## ")
		source := readSource(t, false, "algo/"+strings.ToLower(algorithm))
		for line := range strings.Lines(section) {
			for _, name := range ruleNames(line) {
				named++
				declaration := regexp.MustCompile(`(?m)^(func (\(\w+ \*?\w+\) )?` + name + `\(|type ` + name + `\b|\t` + name + `( |$))`)
				require.True(t, declaration.MatchString(source), "from-textbook-to-production.md names %s, which algo/%s does not declare", name, strings.ToLower(algorithm))
			}
		}
	}
	require.Greater(t, named, 50)
}

var goName = regexp.MustCompile("`([A-Za-z]+)`")

// ruleNames returns the names of Go code in the second cell of a row, where the ladder names the functions of a rule.
func ruleNames(row string) (names []string) {
	cells := tableCells(row)
	if len(cells) < 2 {
		return nil
	}
	for _, match := range goName.FindAllStringSubmatch(cells[1], -1) {
		names = append(names, match[1])
	}
	return names
}

func TestRuleNamesAreFound(t *testing.T) {
	require.Equal(t, []string{"tell", "ask"}, ruleNames("| `no` | the rule: `tell`, `ask` | 3 |\n"))
	require.Empty(t, ruleNames("a line: `tell`"))
}

// tableCells returns the cells of a row of a table, and nil for any other line.
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	line = strings.ReplaceAll(line, `\|`, "/")
	return strings.Split(strings.Trim(line, "|"), "|")
}
