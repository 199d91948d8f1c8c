package config

import (
	"fmt"
	"io"
	"strings"
)

const exampleListen = "127.0.0.1:7400" // there is no default

// Example writes a file that sets nothing but where to listen, and shows every field with
// its default, commented out: what is set would no longer follow the preset.
func (t *Table) Example(w io.Writer) error {
	text := &strings.Builder{}
	text.WriteString(`# The configuration of a node, for elect node --config FILE.
#
# Every field is shown with its default. To change one, take the # away before its name.
# Each is a flag and a variable of the environment as well: heartbeat in the section
# timing is --timing-heartbeat and ELECT_TIMING_HEARTBEAT. A flag overrides the
# environment, the environment this file. Durations are written with their unit, as
# 300ms, 1.5s or 2m. Times and options that are not set follow from the preset.
`)
	section := ""
	for _, f := range t.fields {
		indent := strings.Repeat("  ", strings.Count(f.section(), "."))
		about := "Options of the algorithm " + f.Algorithm + ". They count where it is selected."
		if indent == "" {
			text.WriteString("\n")
		}
		if f.section() == timingSection {
			about = "What depends on the network. Members of a cluster should share it."
		}
		if f.section() != section {
			section = f.section()
			fmt.Fprintf(text, "\n# %s\n%s:\n", about, strings.TrimSuffix(section, "."))
		}
		fmt.Fprintf(text, "%s# %s\n", indent, f.Help)
		if len(f.Words) > 0 {
			fmt.Fprintf(text, "%s# (%s)\n", indent, either(f.Words))
		}
		if f.Empty != "" {
			fmt.Fprintf(text, "%s# (default: %s)\n", indent, f.Empty)
		}
		if f.Live {
			fmt.Fprintf(text, "%s# (SIGHUP reloads it)\n", indent)
		}
		if f.Name == "listen" {
			fmt.Fprintf(text, "listen: %s\n", exampleListen)
		} else {
			fmt.Fprintf(text, "%s#%s: %s\n", indent, f.local(), textOf(t.Default(f)))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
