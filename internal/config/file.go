package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a configuration file, in bytes. The longest that makes sense, with 512
// members, has half of that.
const maxFile = 256 << 10

// readFile returns the text of a file. Its errors are those of the file system: a file
// that is too long is a mistake like others, which file.parse finds.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1)) // it may be a device
}

// file is a configuration file that is being read.
type file struct {
	path     string
	table    *Table
	values   map[string]given
	mistakes *mistakes
}

// at is the place of a node in it.
func (f *file) at(n *yaml.Node) Origin { return Origin{Source: File, Name: f.path, Line: n.Line} }

// yamlLine is how yaml's errors begin.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line ([0-9]+): )?`)

// parse reads the text of the file. It takes yaml's tree and not its decoding into a
// struct: so it finds all mistakes and not one, each with its line, and no alias is ever
// expanded.
func (f *file) parse(text []byte) {
	illegible := func(line int, got, want string) {
		f.mistakes.add(Mistake{Origin: Origin{Source: File, Name: f.path, Line: line}, Got: got, Want: want})
		f.mistakes.illegible = true
	}
	if len(text) > maxFile {
		illegible(0, fmt.Sprintf("more than %d KiB", maxFile>>10), "a configuration")
		return
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return // empty
	case err != nil:
		said := err.Error()
		head := yamlLine.FindStringSubmatch(said)
		line, _ := strconv.Atoi(head[1])
		illegible(line, "no YAML: "+strings.TrimPrefix(said, head[0]), "")
		return
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		f.mistakes.add(Mistake{Origin: Origin{Source: File, Name: f.path}, Got: "more than one document", Want: "one"})
	}
	f.mapping("", document.Content[0])
}

// mapping reads the fields of a section.
func (f *file) mapping(section string, n *yaml.Node) {
	if isNull(n) {
		return // a heading with nothing below
	}
	if n.Kind != yaml.MappingNode {
		m := Mistake{Field: strings.TrimSuffix(section, "."), Origin: f.at(n), Got: describe(n), Want: "fields and their values"}
		if section == "" {
			m.Got = "the file is " + m.Got
		}
		f.mistakes.add(m)
		return
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content) && !f.mistakes.full(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			f.mistakes.add(Mistake{Origin: f.at(key), Got: describe(key) + " where the name of a field should be"})
			continue
		}
		name := section + key.Value
		field, known := f.table.byName[name]
		switch first, again := lines[key.Value]; {
		case again:
			f.mistakes.add(Mistake{Field: name, Origin: f.at(key), Got: fmt.Sprintf("set twice, first in line %d", first), Want: "it once"})
		case known && field.section() != section:
			f.mistakes.add(Mistake{Field: name, Origin: f.at(key), Got: "not a field",
				Want: strings.TrimPrefix(name, field.section()) + " in the section " + strings.TrimSuffix(field.section(), ".")})
		case known:
			f.values[name] = f.value(value, isList(f.table.target(field)))
		case section == "" && f.table.sections[name+"."]:
			f.mapping(name+".", value)
		default:
			f.mistakes.add(f.table.unknown(section, key.Value, f.at(key)))
		}
		lines[key.Value] = key.Line
	}
}

// value is what is written for a field.
func (f *file) value(n *yaml.Node, list bool) given {
	g := given{origin: f.at(n)}
	items := []*yaml.Node{n}
	if list && n.Kind == yaml.SequenceNode {
		items = n.Content
		g.texts = []string{}
	} else if list {
		g.bad = describe(n)
		return g
	}
	for _, item := range items {
		switch bad := noText(item); {
		case bad != "" && list:
			return given{origin: f.at(item), bad: "a list that holds " + bad}
		case bad != "":
			return given{origin: f.at(item), bad: bad}
		}
		g.texts, g.lines = append(g.texts, item.Value), append(g.lines, item.Line)
	}
	return g
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// noText says what a node is, if it is no text, number or word.
func noText(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || isNull(n) || n.Style&yaml.TaggedStyle != 0 {
		return describe(n)
	}
	return ""
}

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.AliasNode:
		return "an alias (*" + shown(n.Value) + ")"
	case isNull(n):
		return "empty"
	case n.Style&yaml.TaggedStyle != 0:
		return "tagged " + quoted(n.Tag)
	}
	return quoted(n.Value)
}

// unknown is the mistake of a name that is not one of a field.
func (t *Table) unknown(section, key string, at Origin) Mistake {
	m := Mistake{Field: section + key, Origin: at, Got: "not a field", Meant: t.meant(section, key)}
	if m.Meant == "" {
		m.Want = "one of " + strings.Join(t.in(section), ", ")
	}
	if t.sections[section] && section != "" && len(t.in(section)) == 0 {
		m.Want = "nothing there: it has no options"
	}
	return m
}

// in returns the names in a section, sections included.
func (t *Table) in(section string) []string {
	var names []string
	for _, f := range t.fields {
		if f.section() == section {
			names = append(names, strings.TrimPrefix(f.Name, section))
		}
	}
	if section == "" {
		names = append(append(names, "timing"), t.Algorithms()...)
	}
	return names
}
