package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGlossaryNamesCode checks the last column of the glossary: the code still has each of the older words. After a rename
// the cell becomes empty.
func TestGlossaryNamesCode(t *testing.T) {
	page, err := os.ReadFile("glossary.md")
	require.NoError(t, err)
	source, named := readSource(t, false, "."), 0
	for line := range strings.Lines(string(page)) {
		cells := tableCells(line)
		if cells == nil {
			continue
		}
		require.Len(t, cells, 4, line)
		for _, word := range goName.FindAllStringSubmatch(cells[3], -1) {
			named++
			require.True(t, regexp.MustCompile(`\b`+word[1]+`\b`).MatchString(source), "glossary.md: no code has the word %q: remove it from the last column", word[1])
		}
	}
	require.NotZero(t, named)
}
