package confload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
)

// maxFile is the maximum size of a configuration file, in bytes. A file with 512 members has
// half of it.
const maxFile = 256 << 10

// yamlLine matches the beginning of an error of package yaml.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line ([0-9]+): )?`)

// parse reads the text of the file. It uses the tree of package yaml. Decoding into a struct
// would lack fields and lines (see the package comment), read 010 as 8, and expand aliases.
func (s *Settings) parse(text []byte) {
	wrong := func(line int, got, want string) {
		s.Problems.Add(&algo.SettingError{Origin: algo.Origin{Source: diag.File, Name: s.File, Line: line}, Got: got, Want: want})
	}
	if len(text) > maxFile {
		wrong(0, fmt.Sprintf("more than %d KiB", maxFile>>10), "a configuration")
		s.invalidYAML = true
		return
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return // empty
	case err != nil:
		head := yamlLine.FindStringSubmatch(err.Error())
		line, _ := strconv.Atoi(head[1])
		wrong(line, "no YAML: "+strings.TrimPrefix(err.Error(), head[0]), "")
		s.invalidYAML = true
		return
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		wrong(0, "more than one document", "one")
	}
	s.mapping("", document.Content[0])
}

// at returns the place of a node in the file.
func (s *Settings) at(n *yaml.Node) algo.Origin {
	return algo.Origin{Source: diag.File, Name: s.File, Line: n.Line}
}

// mapping reads the fields of a section.
func (s *Settings) mapping(section string, n *yaml.Node) {
	if isNull(n) {
		return // a section without fields
	}
	if n.Kind != yaml.MappingNode {
		m := &algo.SettingError{Field: strings.TrimSuffix(section, "."), Origin: s.at(n), Got: describe(n), Want: "fields and their values"}
		if section == "" {
			m.Got = "the file is " + m.Got
		}
		s.Problems.Add(m)
		return
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content) && !s.Problems.Full(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			s.Problems.Add(&algo.SettingError{Origin: s.at(key), Got: describe(key) + " where the name of a field should be"})
			continue
		}
		name := section + key.Value
		field, known := s.table.byName[name]
		m := &algo.SettingError{Field: diag.Name(name), Origin: s.at(key), Got: "not a field"}
		switch first, again := lines[key.Value]; {
		case again:
			m.Got, m.Want = fmt.Sprintf("set twice, first in line %d", first), "it once"
			s.Problems.Add(m)
		case known && field.section() != section:
			m.Want = field.local() + " in the section " + strings.TrimSuffix(field.section(), ".")
			s.Problems.Add(m)
		case known && name == leasePart && value.Kind == yaml.MappingNode:
			s.accept(field, given{texts: []string{"on"}, origin: s.at(value)})
			s.mapping(name+".", value)
		case known:
			s.accept(field, s.value(value, s.table.isList(field)))
		case section == "" && slices.Contains(s.table.sections, name):
			s.mapping(name+".", value)
		default:
			s.Problems.Add(s.table.unknown(section, key.Value, s.at(key)))
		}
		lines[key.Value] = key.Line
	}
}

// value returns the input for a field.
func (s *Settings) value(n *yaml.Node, list bool) given {
	g := given{origin: s.at(n)}
	items, within := []*yaml.Node{n}, ""
	if list && n.Kind != yaml.SequenceNode {
		return given{origin: s.at(n), bad: describe(n)}
	} else if list {
		items, within = n.Content, "a list that holds "
	}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || isNull(item) || item.Style&yaml.TaggedStyle != 0 {
			return given{origin: s.at(item), bad: within + describe(item)}
		}
		g.texts, g.lines = append(g.texts, item.Value), append(g.lines, item.Line)
	}
	return g
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.AliasNode:
		return "an alias (*" + diag.Name(n.Value) + ")"
	case isNull(n):
		return "empty"
	case n.Style&yaml.TaggedStyle != 0:
		return "tagged " + diag.Quote(n.Tag)
	}
	return diag.Quote(n.Value)
}

// unknown returns the problem for a name that is not the name of a field.
func (t *Table) unknown(section, key string, at algo.Origin) *algo.SettingError {
	var here []Field
	var names []string
	for _, f := range t.fields {
		if f.section() == section {
			here, names = append(here, f), append(names, f.local())
		}
	}
	if section == "" {
		names = append(names, t.sections...)
	}
	m := &algo.SettingError{Field: diag.Name(section + key), Origin: at, Got: "not a field"}
	if len(names) == 0 {
		m.Want = "nothing there: it has no options"
	} else if m.Suggestion = cmp.Or(nearestField(key, here).Name, nearestField(key, t.fields).Name); m.Suggestion == "" {
		m.Want = "one of " + strings.Join(names, ", ")
	}
	return m
}
