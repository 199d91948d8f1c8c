package confload

import (
	"fmt"
	"io"
	"strings"
)

// exampleSets are the fields that the example sets: a required one, and one that most nodes need.
var exampleSets = map[string]string{"listen": "127.0.0.1:7400", "data_dir": "/var/lib/elect"}

// Example writes a file that sets few fields. It contains every other field with its default as a
// comment, because a field that is set does not follow the preset.
func (t *Table) Example(w io.Writer) error {
	text := &strings.Builder{}
	text.WriteString(`# The configuration of a node, for elect node --config FILE.
#
# Every field is shown, with its default if it is not set. To change one, remove the # before its
# name. Each is a flag and a variable of the environment as well: heartbeat in the section
# timing is --timing-heartbeat and ELECT_TIMING_HEARTBEAT. A flag overrides the
# environment, the environment this file. Durations are written with their unit, as
# 300ms, 1.5s or 2m. Times and options that are not set follow from the preset.
`)
	section := ""
	for _, f := range t.fields {
		indent, about := "  ", "Options of the algorithm "+f.Part+". They count where it is selected."
		switch f.section() {
		case "":
			indent = ""
			text.WriteString("\n")
		case "timing.":
			about = "What depends on the network. Members of a cluster should share it."
		case "tls.":
			about = "Or instead of secret_file certificates, one for each member:"
		case "http_tls.":
			about = "Certificates for http alone, instead of those of tls:"
		case leasePart + ".":
			indent, about = "#  ", "Or instead of on a section, with what differs from what follows from the timing:"
		}
		if f.section() != section {
			section = f.section()
			fmt.Fprintf(text, "\n# %s\n%s%s:\n", about, strings.TrimSpace(indent), strings.TrimSuffix(section, "."))
		}
		fmt.Fprintf(text, "%s# %s\n", indent, f.Help)
		if len(f.Words) > 0 {
			fmt.Fprintf(text, "%s# (%s)\n", indent, either(f.Words))
		}
		if f.Empty != "" {
			fmt.Fprintf(text, "%s# (default: %s)\n", indent, f.Empty)
		}
		if f.Reloadable {
			fmt.Fprintf(text, "%s# (SIGHUP reloads it)\n", indent)
		}
		if set, ok := exampleSets[f.Name]; ok {
			fmt.Fprintf(text, "%s: %s\n", f.Name, set)
		} else {
			fmt.Fprintf(text, "%s#%s: %s\n", indent, f.local(), textOf(t.Default(f)))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
