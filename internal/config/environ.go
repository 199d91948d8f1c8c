package config

import "strings"

// prefix is that of the variables of the environment.
const prefix = "ELECT_"

// FileVariable is the variable that names the file, where no flag does.
const FileVariable = prefix + "CONFIG"

// environ reads variables, each NAME=value as os.Environ returns them. An empty one counts
// as not set, as in templates of containers. What begins with ELECT_ and is unknown is
// returned and not refused: nobody may be able to take it away. In Kubernetes a service
// called elect puts ELECT_SERVICE_HOST and more into every container.
func (t *Table) environ(variables []string, path *string, values map[string]given) []Unknown {
	byVariable := make(map[string]Field)
	for _, f := range t.fields {
		byVariable[f.Variable()] = f
	}
	var unknown []Unknown
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		field, known := byVariable[name]
		switch {
		case !strings.HasPrefix(name, prefix):
		case name == FileVariable:
			*path = value
		case !known:
			unknown = append(unknown, Unknown{name, t.meantVariable(name)})
		case value != "":
			values[field.Name] = given{texts: t.split(field, value), origin: Origin{Source: Environment, Name: name}}
		}
	}
	return unknown
}

// split takes a list apart at its commas.
func (t *Table) split(f Field, value string) []string {
	if !isList(t.target(f)) {
		return []string{value}
	}
	texts := []string{}
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			texts = append(texts, item)
		}
	}
	return texts
}

// meantVariable is like meant, for variables.
func (t *Table) meantVariable(name string) string {
	keys := map[string][]string{FileVariable: {"config"}}
	names := []string{FileVariable}
	for _, f := range t.fields {
		names = append(names, f.Variable())
		keys[f.Variable()] = []string{f.Name, strings.TrimPrefix(f.Name, f.section()), f.Alias}
	}
	wrote := strings.TrimPrefix(name, prefix)
	return nearest(wrote, names, func(name string) []string { return keys[name] })
}
