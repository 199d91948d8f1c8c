package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cluster"
)

// settings is what a node is told: by a file, and by flags that override it.
type settings struct {
	config   cluster.Config
	log      string // text or json
	logLevel string

	mistakes  mistakes
	illegible bool                 // the file is not YAML at all
	timing    []section            // the timing section of the file
	options   map[string][]section // those of algorithms, by name; the last counts most
	preset    string
	evidence  *bool // NoEvidence, where a flag says so
}

// nodeFlags are the flags of elect node.
type nodeFlags struct {
	file       string
	peers      []string
	members    []string
	options    []string
	noEvidence bool
	events     string
	c          cluster.Config
	preset     string
	log, level string
}

func (f *nodeFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.file, "config", "", "configuration `file`; flags override it")
	set.StringVar(&f.c.Listen, "listen", "", "where to listen, as `host:port`")
	set.StringVar(&f.c.Advertise, "advertise", "", "where the others reach this node, as `host:port` (default --listen)")
	set.StringSliceVar(&f.peers, "peer", nil, "`address` of a member that lets this one in; repeatable")
	set.StringSliceVar(&f.members, "members", nil, "`addresses` of all members, equal on all of them; stands instead of --peer")
	set.StringVar(&f.c.Data, "data", "", "`folder` for what must survive a restart")
	set.StringVar(&f.c.Name, "name", "", "unique in the cluster (default the name of the host)")
	set.StringVar(&f.c.Cluster, "cluster", "", "name of the cluster (default elect)")
	set.StringVar(&f.c.Algorithm, "algorithm", "", "one of "+strings.Join(algorithms(), ", ")+" (default bully)")
	set.StringArrayVar(&f.options, "option", nil, "option of the algorithm, as `key=value`; repeatable")
	set.IntVar(&f.c.Priority, "priority", 0, "a higher one is elected first, then a higher id")
	set.BoolVar(&f.c.Witness, "witness", false, "take part, but never lead")
	set.StringVar(&f.preset, "preset", "", "timing: local, lan or wan (default lan)")
	set.BoolVar(&f.noEvidence, "no-evidence", false, "suspect by silence only, not by refused connections")
	set.StringVar(&f.log, "log", "", "log as text or json (default text)")
	set.StringVar(&f.level, "log-level", "", "debug, info, warn or error (default info)")
	set.StringVar(&f.events, "events", "", "")
	_ = set.MarkHidden("events") // for a fleet: see followParent
}

func algorithms() []string { return slices.Sorted(maps.Keys(builtin.Registry())) }

// load reads the file and the flags. What is wrong with them is collected; the only
// error is a file that cannot be read at all.
func (f *nodeFlags) load(set *pflag.FlagSet) (*settings, error) {
	s := &settings{options: make(map[string][]section), log: "text", logLevel: "info"}
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, usagef("--config: %v", err)
		}
		s.read(filepath.Base(f.file), text)
	}
	f.override(s, set)
	s.complete()
	return s, nil
}

// read takes over what a file says.
func (s *settings) read(file string, text []byte) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return // empty
	case err != nil:
		s.mistakes.add("", "%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
		s.illegible = true
		return
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		s.mistakes.add("", "%s: more than one document, want one", file)
	}
	c := &s.config
	fields := map[string]any{
		"cluster": &c.Cluster, "name": &c.Name, "listen": &c.Listen, "advertise": &c.Advertise,
		"join": &c.Join, "members": &c.Members, "data": &c.Data, "algorithm": &c.Algorithm,
		"priority": &c.Priority, "witness": &c.Witness, "log": &s.log, "log_level": &s.logLevel,
		"timing": func(timing section) { s.timing = append(s.timing, timing) },
	}
	for _, name := range algorithms() {
		fields[name] = func(options section) { s.options[name] = append(s.options[name], options) }
	}
	section{file: file, node: document.Content[0]}.decode(fields, &s.mistakes)
}

// override takes over the flags that were given.
func (f *nodeFlags) override(s *settings, set *pflag.FlagSet) {
	c := &s.config
	set.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "listen":
			c.Listen = f.c.Listen
		case "advertise":
			c.Advertise = f.c.Advertise
		case "peer":
			c.Join = f.peers
		case "members":
			c.Members = f.members
		case "data":
			c.Data = f.c.Data
		case "name":
			c.Name = f.c.Name
		case "cluster":
			c.Cluster = f.c.Cluster
		case "algorithm":
			c.Algorithm = f.c.Algorithm
		case "priority":
			c.Priority = f.c.Priority
		case "witness":
			c.Witness = f.c.Witness
		case "preset":
			s.preset = f.preset
		case "no-evidence":
			s.evidence = &f.noEvidence
		case "log":
			s.log = f.log
		case "log-level":
			s.logLevel = f.level
		}
	})
	if c.Algorithm == "" {
		c.Algorithm = "bully"
	}
	s.addOptions(f.options)
}

// addOptions takes over options of the algorithm, each key=value.
func (s *settings) addOptions(options []string) {
	algorithm := s.config.Algorithm
	for _, option := range options {
		key, value, ok := strings.Cut(option, "=")
		if !ok {
			s.mistakes.add("option", "--option is %q, want key=value", option)
			continue
		}
		scalar := &yaml.Node{Kind: yaml.ScalarNode, Value: value, Tag: tagOf(value)}
		s.options[algorithm] = append(s.options[algorithm], section{prefix: algorithm + ".", node: &yaml.Node{
			Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, scalar},
		}})
	}
}

// tagOf is the type that YAML sees in a word.
func tagOf(word string) string {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(word), &n); err != nil || len(n.Content) != 1 || n.Content[0].Kind != yaml.ScalarNode {
		return "!!str"
	}
	return n.Content[0].Tag
}

// complete settles the timing and the options, and checks what only this command
// knows.
func (s *settings) complete() {
	s.completeTiming()
	if s.log != "text" && s.log != "json" {
		s.mistakes.add("log", "log is %q, want text or json", s.log)
	}
	if err := new(slog.Level).UnmarshalText([]byte(s.logLevel)); err != nil {
		s.mistakes.add("log_level", "log_level is %q, want debug, info, warn or error", s.logLevel)
	}
	for _, name := range algorithms() {
		_, err := s.spec(name)
		if name == s.config.Algorithm {
			continue // cluster says what the algorithm finds
		}
		for _, e := range leaves(err) {
			s.mistakes.add(name, "%s", e)
		}
	}
	s.config.Options = func(o any) error { s.decodeOptions(s.config.Algorithm, o); return nil }
}

// spec makes an algorithm with the options that are set for it.
func (s *settings) spec(name string) (algo.Spec, error) {
	timing := algo.Timing{RoundTrip: s.config.Timing.RoundTrip, Heartbeat: s.config.Timing.Heartbeat}
	return builtin.Registry()[name](timing, func(o any) error { s.decodeOptions(name, o); return nil })
}

// build makes an algorithm for a command that runs no node, with options as they are
// given to --option. prepare sees them before, with their defaults. What is wrong is
// noted.
func (s *settings) build(name string, timing algo.Timing, options []string, prepare func(options any)) algo.Spec {
	factory, ok := builtin.Registry()[name]
	if !ok {
		s.mistakes.add("algorithm", "algorithm is %q, want one of %s", name, strings.Join(algorithms(), ", "))
		return algo.Spec{}
	}
	s.config.Algorithm = name
	s.addOptions(options)
	spec, err := factory(timing, func(options any) error {
		prepare(options)
		s.decodeOptions(name, options)
		return nil
	})
	for _, e := range leaves(err) {
		s.mistakes.add(name, "%v", e)
	}
	return spec
}

// withSettings puts options of a file before those of flags, of which the last counts.
func withSettings(settings []algo.Setting, options []string) []string {
	var all []string
	for _, o := range settings {
		all = append(all, o.Name+"="+o.Value)
	}
	return append(all, options...)
}

// needsQuorum reports whether the algorithm elects only with a majority.
func (s *settings) needsQuorum() bool {
	if !slices.Contains(algorithms(), s.config.Algorithm) {
		return false
	}
	spec, err := s.spec(s.config.Algorithm)
	return err == nil && spec.Claims.NeedsQuorum
}

// decodeOptions fills in the options of an algorithm. Its mistakes are collected, so
// that the algorithm goes on and finds its own.
func (s *settings) decodeOptions(name string, options any) {
	for _, section := range s.options[name] {
		section.decode(fieldsOf(options), &s.mistakes)
	}
}

func (s *settings) completeTiming() {
	presets := cluster.Presets()
	word := ""
	for _, timing := range s.timing {
		if n := valueOf(timing.node, "preset"); n != nil {
			word = n.Value
		}
	}
	if s.preset != "" {
		word = s.preset
	}
	if word == "" {
		word = "lan"
	}
	timing, ok := presets[word]
	if !ok {
		s.mistakes.add("timing.preset", "timing.preset is %q, want one of %s", word, strings.Join(slices.Sorted(maps.Keys(presets)), ", "))
		timing = cluster.LAN()
	}
	fields := fieldsOf(&timing)
	fields["preset"] = &word
	for _, section := range s.timing {
		section.decode(fields, &s.mistakes)
	}
	if s.evidence != nil {
		timing.NoEvidence = *s.evidence
	}
	s.config.Timing = timing
}

func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// make returns the node, or all that is wrong at once.
func (s *settings) make(options ...cluster.Option) (*cluster.Node, error) {
	if s.illegible {
		return nil, s.mistakes.error() // the rest would be about what it could not say
	}
	n, err := cluster.New(s.config, options...)
	said := maps.Clone(s.mistakes.fields)
	for _, e := range leaves(err) {
		var field string
		if c, ok := errors.AsType[*cluster.ConfigError](e); ok {
			field = c.Field
			if said[field] {
				continue // it is empty because of that
			}
		}
		s.mistakes.add(field, "%s", strings.TrimPrefix(e.Error(), "cluster: "))
	}
	return n, s.mistakes.error()
}

// logger writes as the settings say.
func (s *settings) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		panic(fmt.Sprintf("elect: log level %q was not checked", s.logLevel))
	}
	options := &slog.HandlerOptions{Level: level}
	if s.log == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
