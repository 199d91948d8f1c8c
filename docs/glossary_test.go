package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// wordInCode matches a name and the folder of its package, as in "`leadTask` in `cluster`".
	wordInCode  = regexp.MustCompile("`(\\w+)` in `([\\w/]+)`")
	lineComment = regexp.MustCompile(`(?m)(^|\s)//.*$`)
)

// TestGlossaryNamesCode checks the last column of the glossary: the code of the folder still has the word. After a
// rename the cell becomes empty.
func TestGlossaryNamesCode(t *testing.T) {
	page, err := os.ReadFile("glossary.md")
	require.NoError(t, err)
	named := 0
	for line := range strings.Lines(string(page)) {
		cells := tableCells(line)
		if cells == nil {
			continue
		}
		require.Len(t, cells, 4, line)
		words := wordInCode.FindAllStringSubmatch(cells[3], -1)
		require.Equal(t, strings.Count(cells[3], "`"), 4*len(words), "glossary.md: want `word` in `folder`: %s", cells[3])
		for _, word := range words {
			named++
			code := lineComment.ReplaceAllString(readSource(t, false, word[2]), "")
			require.True(t, regexp.MustCompile(`\b`+word[1]+`\b`).MatchString(code), "glossary.md: the code in %s has no %q: remove it from the last column", word[2], word[1])
		}
	}
	require.NotZero(t, named)
}
