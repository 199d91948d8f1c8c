package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/explore"
	"github.com/elect-go/elect/trace"
)

// finding is the result of a search or a walk.
type finding struct {
	explore.Report
	walk     bool // a random walk
	noLeader bool
}

// verdict returns the error of the command.
func (f *finding) verdict(ctx context.Context) error {
	var broken []string
	for _, v := range f.Violations {
		broken = append(broken, string(v.Property))
	}
	switch {
	case len(broken) > 0:
		return fmt.Errorf("broken: %s", strings.Join(broken, ", "))
	case context.Cause(ctx) != nil:
		return errInterrupted
	case f.noLeader && f.Cut != "":
		return fmt.Errorf("no node had led before %s cut it short: nothing was tested", f.Cut)
	case f.noLeader:
		return errors.New("no node ever led: nothing was tested")
	case f.Cut != "":
		return &exitError{statusCut, "cut short by " + f.Cut + ", before anything was found broken"}
	}
	return nil
}

// report saves a violation when it is found, and prints it.
func (e *exploration) report(v explore.Violation) {
	file, err := e.saveScenario(v)
	if !e.json {
		err = errors.Join(err, e.printViolation(v, file))
	}
	e.files = append(e.files, file)
	e.failed = errors.Join(e.failed, err)
}

// saveScenario saves the scenario of a violation, and returns its file.
func (e *exploration) saveScenario(v explore.Violation) (string, error) {
	file, err := e.create(v.Property, len(e.files))
	if err != nil {
		return "", fmt.Errorf("the scenario was not saved: %w", err)
	}
	_, err = fmt.Fprintf(file, "# %s\n%s", e.command, v.Scenario)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("the scenario was not saved: %w", err)
	}
	return file.Name(), nil
}

// create creates the file for the i-th violation.
func (e *exploration) create(p algo.Property, i int) (*os.File, error) {
	name := fmt.Sprintf("%s-%s", e.algorithm, p)
	if e.save == "" {
		return os.CreateTemp("", name+"-*.txt")
	}
	path := e.save
	if info, err := os.Stat(path); err == nil && info.IsDir() || strings.HasSuffix(path, string(filepath.Separator)) {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return nil, err
		}
		path = filepath.Join(path, name+".txt")
	} else if i > 0 {
		extension := filepath.Ext(path)
		path = strings.TrimSuffix(path, extension) + "-" + string(p) + extension
	}
	return os.Create(path)
}

// printViolation draws a violation.
func (e *exploration) printViolation(v explore.Violation, file string) error {
	fewest := ", and no fewer"
	if e.randomSteps > 0 {
		fewest = ""
	}
	fmt.Fprintf(e.out, "\n%s is broken, after %s%s: %s.\n\n", v.Property, count(len(v.Steps), "step"), fewest, v.What)
	d := stepDiagram(e.o.View, v.Trace, trace.Diagram{Width: widthOf(e.out, e.width), ASCII: e.ascii})
	if _, err := io.WriteString(e.out, d.String()); err != nil || file == "" {
		return err
	}
	_, err := fmt.Fprintf(e.out, "\nIt is saved, and can be replayed: elect sim --scenario %s\n", file)
	return err
}

// print prints the finding. The violations have been printed, except as JSON.
func (e *exploration) print(f *finding) error {
	if e.json {
		encoder := json.NewEncoder(e.out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(e.object(f))
	}
	if len(f.Violations) > 0 {
		fmt.Fprintln(e.out)
	}
	if err := e.printCounts(f); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.out, "\n%s\n", f.outcome())
	return err
}

// printModel prints the explored model and its bounds.
func (e *exploration) printModel() error {
	if e.json {
		return nil
	}
	fmt.Fprintf(e.out, "%s, %s\n\n", e.o.Spec.Name, count(e.nodes, "node"))
	table, row := wideRows(e.out, len("transitions  "))
	row("at first", "%s", map[bool]string{false: "no node has started", true: "all nodes have started and agree"}[e.o.StartAgreed])
	row("messages", "%s", map[explore.Network]string{
		explore.Lossy: "arrive late, in any order, any number of times or never", explore.Once: "arrive late, in any order, once",
	}[e.o.Network])
	row("budget", "%s, %s, %s", count(e.o.Crashes, "crash"), count(e.o.FalseSuspicions, "false suspicion"), count(e.o.Campaigns, "campaign"))
	row("bounds", "%s", e.bounds())
	properties := make([]string, len(e.o.Properties))
	for i, p := range e.o.Properties {
		properties[i] = string(p)
	}
	row("looked for", "%s", strings.Join(properties, ", "))
	return table.Flush()
}

// printCounts prints what was visited.
func (e *exploration) printCounts(f *finding) error {
	table, row := wideRows(e.out, len("transitions  "))
	if f.walk {
		row("steps", "%s, in %s of at most %d", grouped(f.Generated), count(f.Walks, "walk"), e.walkLength)
		row("a leader", "in %s", count(f.WithLeader, "walk"))
		row("time", "%s, %s steps a second, seed %d", roundly(f.Elapsed), grouped(int(f.TransitionsPerSecond)), e.seed)
		return table.Flush()
	}
	row("states", "%s, the farthest at depth %d", grouped(f.States), f.Depth)
	row("transitions", "%s to another state; %s beyond the bounds, left out", grouped(f.Generated), grouped(f.LeftOut))
	row("a leader", "in %s", count(f.WithLeader, "state"))
	row("time", "%s, %s transitions a second", roundly(f.Elapsed), grouped(int(f.TransitionsPerSecond)))
	return table.Flush()
}

func (e *exploration) bounds() string {
	text := "no epoch is too high"
	if e.o.Epochs > 0 {
		text = fmt.Sprintf("epochs up to %d", e.o.Epochs)
	}
	if e.o.PeriodicSends > 0 {
		text += fmt.Sprintf(", at most %s of heartbeats in a run", count(e.o.PeriodicSends, "repeat"))
	}
	return text
}

// count formats a number of things.
func count(n int, what string) string {
	many := what + "s"
	if strings.HasSuffix(what, "sh") {
		many = what + "es"
	}
	switch n {
	case 0:
		return "no " + many
	case 1:
		return "1 " + what
	}
	return grouped(n) + " " + many
}

// outcome returns the last line of the output.
func (f *finding) outcome() string {
	broken := len(f.Violations) > 0
	switch {
	case f.Complete && f.noLeader:
		return "Complete within these bounds, but no node ever leads: it proves nothing."
	case f.Complete && broken:
		return "Complete within these bounds. What else was looked for holds."
	case f.Complete:
		return "Complete within these bounds. What was looked for holds."
	case f.Cut == explore.AllViolated:
		return "Not complete: it ended when every property asked for was broken."
	case f.Cut != "" && broken:
		return "Not complete: " + f.why() + ". More may be broken."
	case f.Cut != "":
		return "Not complete: " + f.why() + ". In what was visited nothing is broken."
	case broken:
		return "Random walks are never complete. There may be more, and shorter ways to this."
	}
	return "Random walks are never complete. In these nothing is broken."
}

func (f *finding) why() string {
	if strings.HasPrefix(f.Cut, "the limit") {
		return "cut short by " + f.Cut
	}
	return f.Cut
}

// stepDiagram returns the diagram of a run. Its unit of time is a step.
func stepDiagram(view algo.View, events []trace.Event, d trace.Diagram) *trace.Diagram {
	d.Unit, d.UnitName, d.All, d.Names = 1, "step", true, nodeName
	for m := range view.All() {
		d.Nodes = append(d.Nodes, m.ID)
	}
	for _, e := range events {
		d.Event(e)
	}
	return &d
}

// exploredObject holds the settings of an exploration as JSON.
type exploredObject struct {
	Algorithm       string            `json:"algorithm"`
	Options         map[string]string `json:"options"`
	Nodes           int               `json:"nodes"`
	From            string            `json:"from"`
	Network         string            `json:"network"`
	Crashes         int               `json:"crashes"`
	FalseSuspicions int               `json:"false_suspicions"`
	Campaigns       int               `json:"campaigns"`
	Epochs          algo.Epoch        `json:"epochs"`
	PeriodicSends   int               `json:"periodic_sends"`
	Properties      []algo.Property   `json:"properties"`
}

// foundObject holds the results of an exploration as JSON.
type foundObject struct {
	Complete   bool              `json:"complete"`
	Seconds    float64           `json:"seconds"`
	Cut        string            `json:"cut"`
	Violations []violationObject `json:"violations"`
}

type searchObject struct {
	exploredObject
	foundObject
	States               int     `json:"states"`
	Generated            int     `json:"generated"`
	Depth                int     `json:"depth"`
	LeftOut              int     `json:"left_out"`
	StatesWithLeader     int     `json:"states_with_leader"`
	TransitionsPerSecond float64 `json:"transitions_per_second"`
}

type walkObject struct {
	exploredObject
	foundObject
	Seed            uint64  `json:"seed"`
	Walks           int     `json:"walks"`
	Steps           int     `json:"steps"`
	WalksWithLeader int     `json:"walks_with_leader"`
	StepsPerSecond  float64 `json:"steps_per_second"`
}

type violationObject struct {
	Property algo.Property `json:"property"`
	What     string        `json:"what"`
	Steps    []string      `json:"steps"`
	Scenario string        `json:"scenario"`
	File     string        `json:"file"`
}

func (e *exploration) object(f *finding) any {
	settings := exploredObject{
		Algorithm: e.o.Spec.Name, Options: map[string]string{}, Nodes: e.nodes, From: "nothing", Network: e.network,
		Crashes: e.o.Crashes, FalseSuspicions: e.o.FalseSuspicions, Campaigns: e.o.Campaigns, Epochs: e.o.Epochs, PeriodicSends: e.o.PeriodicSends,
		Properties: e.o.Properties,
	}
	for _, o := range e.o.Spec.Settings {
		settings.Options[o.Name] = o.Value
	}
	if e.o.StartAgreed {
		settings.From = "agreed"
	}
	found := foundObject{Complete: f.Complete, Seconds: f.Elapsed.Seconds(), Cut: f.Cut, Violations: []violationObject{}}
	for i, v := range f.Violations {
		o := violationObject{Property: v.Property, What: v.What, Scenario: v.Scenario}
		lines := strings.Split(strings.TrimSpace(v.Scenario), "\n")
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, ">") })
		o.Steps = lines[len(lines)-len(v.Steps):]
		if i < len(e.files) {
			o.File = e.files[i]
		}
		found.Violations = append(found.Violations, o)
	}
	if f.walk {
		return walkObject{settings, found, e.seed, f.Walks, f.Generated, f.WithLeader, f.TransitionsPerSecond}
	}
	return searchObject{settings, found, f.States, f.Generated, f.Depth, f.LeftOut, f.WithLeader, f.TransitionsPerSecond}
}
