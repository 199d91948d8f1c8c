package confload

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/diag"
)

var commented = regexp.MustCompile(`(?m)^( *)#([a-z_]+:)`)

// uncommented removes the # before the names of fields, as a user would. The lease section replaces "lease: on".
func uncommented(example string) string {
	example = strings.Replace(example, "\n#lease: on\n", "\n# a section\n", 1)
	return commented.ReplaceAllString(strings.ReplaceAll(example, "\n#  ", "\n  "), "$1$2")
}

func example(t *testing.T, table *Table) string {
	var b bytes.Buffer
	require.NoError(t, table.Example(&b))
	return b.String()
}

// The example is a valid file and equals the defaults, both as it is and with every # removed.
func TestExampleEqualsDefaults(t *testing.T) {
	for _, table := range []*Table{builtins, NewTable(lelann())} {
		algorithm := table.Algorithms()[0]
		want, err := sources{table: table, args: []string{"--listen", exampleSets["listen"], "--data-dir", "/var/lib/elect", "--lease=on", "--algorithm", algorithm}}.load(t)
		require.NoError(t, err)
		text := example(t, table)
		full := strings.Replace(uncommented(text), "algorithm: bully", "algorithm: "+algorithm, 1)
		for _, file := range []string{text, full} {
			got, err := sources{table: table, file: file, args: []string{"--algorithm", algorithm}}.load(t)
			require.NoError(t, err, file)
			for i, e := range got.Effective() {
				require.Equal(t, want.Effective()[i].Value, e.Value, e.Field.Name)
			}
		}
		lines := strings.Split(full+text, "\n")
		for _, f := range table.Fields() {
			name := strings.TrimPrefix(f.Name, f.section()) + ": "
			at := 0
			for i, line := range lines {
				if strings.HasPrefix(strings.TrimLeft(line, " #"), name) {
					at = i
				}
			}
			require.Positive(t, at, "%s is not in the example", f.Name)
			require.Regexp(t, `^ *# .{4,}`, lines[at-1], "%s has no comment", f.Name)
		}
	}
}

// The example sets no field that depends on the preset. So a preset takes effect.
func TestExampleSetsLittle(t *testing.T) {
	s, err := sources{file: example(t, builtins), args: []string{"--preset", "wan"}}.load(t)
	require.NoError(t, err)
	var set []string
	for _, e := range s.Effective() {
		if e.Origin.Source == diag.File {
			set = append(set, e.Field.Name)
		}
	}
	require.Equal(t, []string{"listen", "data_dir"}, set)
	require.Equal(t, lease.Defaults(algo.WAN()).Duration, s.Config.Lease.Duration)
}
