package config

import (
	"fmt"
	"io"
	"strings"
)

const (
	exampleListen = "127.0.0.1:7400" // there is no default
	exampleWidth  = 92
)

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
		if f.section() != section {
			section = f.section()
			fmt.Fprintf(text, "\n# %s\n%s:\n", t.about(section), strings.TrimSuffix(section, "."))
		}
		indent := ""
		if section != "" {
			indent = "  "
		} else {
			text.WriteString("\n")
		}
		var notes []string
		if f.Live {
			notes = append(notes, "SIGHUP reloads it")
		}
		for _, line := range wrap(f.explained(notes...), exampleWidth-len(indent)-2) {
			fmt.Fprintf(text, "%s# %s\n", indent, line)
		}
		name := strings.TrimPrefix(f.Name, section)
		if f.Name == "listen" {
			fmt.Fprintf(text, "%s: %s\n", name, exampleListen)
		} else {
			fmt.Fprintf(text, "%s#%s: %s\n", indent, name, textOf(t.Default(f)))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// about says what a section of the file is for.
func (t *Table) about(section string) string {
	if section == "timing." {
		return "What depends on the network. Members of a cluster should share it."
	}
	return "Options of the algorithm " + strings.TrimSuffix(section, ".") + ". They count where it is selected."
}

// wrap breaks a text into lines between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
