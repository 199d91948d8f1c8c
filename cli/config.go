package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
)

func (p *program) newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration, or show the effective one or an example",
		Long: `Check a configuration, or show the effective one or an example.

A configuration comes from a YAML file, the environment and flags, in this order: each
overrides the previous ones. The commands below take the same flags and variables as
elect node, and therefore use the same configuration.`,
		Example: `  elect config example > elect.yaml
  elect config check elect.yaml
  elect config show --config elect.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.newConfigCheck(), p.newConfigExample(), p.newConfigShow())
	return cmd
}

func (p *program) newConfigCheck() *cobra.Command {
	from := source{table: p.fields}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Report all problems in a configuration",
		Long: `Report all problems in the configuration of 'elect node --config FILE': in FILE, in the
environment and in the flags. Nothing is started, and no folder or port is touched.

Exit status: 0 no problem, 1 the file cannot be read, 2 a problem, no such file, or a file
that a user other than root and this one can change.

With --json, one object: file, ok (a bool), problems (a list of objects, at most 100),
more (a bool: there are more), unknown_variables (a list of objects: name, and
suggestion, the variable that is probably meant). A problem has field, source (file, environment,
flag or default), at (the place, as elect.yaml:7), line (0 if it is not in the file),
got, want, suggestion (the name that is probably meant), text (the whole message).`,
		Example: `  elect config check /etc/elect.yaml
  elect config check elect.yaml --listen 10.0.0.1:7400      a file completed by flags
  elect config check elect.yaml --json | jq -r '.problems[].text'`,
		Args: exactly(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from.file = args[0]
			return runConfigCheck(cmd, &from, asJSON)
		},
	}
	from.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runConfigCheck(cmd *cobra.Command, from *source, asJSON bool) error {
	s, err := from.load()
	if err != nil {
		return err
	}
	_, wrong := s.Node()
	switch {
	case asJSON:
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(newCheck(s, wrong)); err != nil {
			return err
		}
		if wrong != nil {
			return &exitError{status: statusUsage} // the object has the problems
		}
		return nil
	case wrong != nil:
		return wrong
	}
	for _, u := range s.Unknown {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "means nothing to elect: %s\n", u); err != nil {
			return err
		}
	}
	if reason := startupError(&s.Config); reason != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "with an empty data directory the node would not start: %s\n", reason)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: nothing is wrong\n", s.File)
	return err
}

// checkObject is the result of a check as JSON.
type checkObject struct {
	File     string             `json:"file"`
	OK       bool               `json:"ok"`
	Problems diag.List          `json:"problems"`
	More     bool               `json:"more"`
	Unknown  []confload.Unknown `json:"unknown_variables"`
}

func newCheck(s *confload.Settings, wrong error) checkObject {
	o := checkObject{File: s.File, OK: wrong == nil, Unknown: append([]confload.Unknown{}, s.Unknown...)}
	if wrong, ok := wrong.(*diag.Error); ok {
		o.Problems, o.More = wrong.Problems, wrong.More
	}
	return o
}

func (p *program) newConfigExample() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "example",
		Short: "Print a configuration file with every field, its default and its meaning",
		Long: `Print a configuration file with every field, its default and its meaning. It sets
where to listen and the data directory: remove the # before each other field that you change.

With --json, a list of objects, one for each field: field, flag, variable, default (a
string, number, bool or list; durations are strings), empty (what an empty default stands
for), words (a list: all that it may be; empty if it may be more), reload (a bool: a
running node applies a change at SIGHUP), help.`,
		Example: `  elect config example > /etc/elect.yaml
  elect config example --json | jq -r '.[] | .variable + "  " + .help'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(newExample(p.fields))
			}
			return p.fields.Example(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list of the fields")
	return cmd
}

// fieldObject is a field as JSON.
type fieldObject struct {
	Field    string   `json:"field"`
	Flag     string   `json:"flag"`
	Variable string   `json:"variable"`
	Default  any      `json:"default"`
	Empty    string   `json:"empty"`
	Words    []string `json:"words"`
	Reload   bool     `json:"reload"`
	Help     string   `json:"help"`
}

func newExample(fields *confload.Table) []fieldObject {
	var all []fieldObject
	for _, f := range fields.Fields() {
		all = append(all, fieldObject{
			f.Name, "--" + f.Flag(), f.Variable(), fields.Default(f), f.Empty, append([]string{}, f.Words...), f.Reloadable, f.Help,
		})
	}
	return all
}

// changedOptions returns the options of the selected algorithm that differ from their defaults.
func changedOptions(s *confload.Settings) []string {
	var changed []string
	for _, e := range s.Effective() {
		if e.Field.Part == s.Algorithm && e.Origin.Source != "" {
			changed = append(changed, e.Field.Name)
		}
	}
	return changed
}
