package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
	"github.com/elect-go/elect/internal/hostile"
)

// ParseScenario reads the text of a scenario. It says every mistake at once, each a
// *ScenarioError that wraps ErrSyntax.
func ParseScenario(name, text string) (*Scenario, error) {
	s := &Scenario{Name: name, config: Config{Timing: algo.LAN(), Delay: Fixed(time.Millisecond), Seed: 1}}
	var mistakes []error
	for i, raw := range strings.Split(text, "\n") {
		line, _, _ := strings.Cut(raw, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		line = hostile.Plain(strings.Join(words, " ")) // it is shown
		if err := s.parse(i+1, line, words); err != nil {
			mistakes = append(mistakes, &ScenarioError{Scenario: name, Line: i + 1, Text: line, Err: err})
		}
	}
	if len(mistakes) == 0 {
		for _, m := range fd.ConfigOf(s.config.Timing).Check() {
			mistakes = append(mistakes, &ScenarioError{Scenario: name, Err: fmt.Errorf("timing: %w", m)})
		}
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	return s, nil
}

// wanted is a syntax error that says what should stand there.
func wanted(format string, args ...any) error {
	return fmt.Errorf("%w, want %s", ErrSyntax, fmt.Sprintf(format, args...))
}

func (s *Scenario) parse(line int, text string, words []string) error {
	if began := len(s.steps) > 0; !began {
		if set, ok := settings[words[0]]; ok {
			return set(s, words[1:])
		}
	}
	c, ok := commands[words[0]]
	switch {
	case !ok && settings[words[0]] != nil:
		return wanted("it before the first command that does something")
	case !ok:
		known := slices.Concat(slices.Collect(maps.Keys(settings)), slices.Collect(maps.Keys(commands)))
		slices.Sort(known)
		return wanted("one of %s", strings.Join(slices.Compact(known), ", "))
	case len(s.steps) == 0 && words[0] != "cluster":
		return wanted("a cluster first")
	}
	do, err := c(words[1:])
	if err == nil {
		s.steps = append(s.steps, step{line: line, text: text, do: do})
	}
	return err
}

// settings stand before the first command.
var settings = map[string]func(*Scenario, []string) error{
	"algorithm": func(s *Scenario, args []string) error {
		if len(args) != 1 {
			return wanted("algorithm NAME")
		}
		s.Algorithm = args[0]
		return nil
	},
	"option": func(s *Scenario, args []string) error {
		name, value, ok := strings.Cut(strings.Join(args, " "), "=")
		if !ok || name == "" {
			return wanted("option NAME=VALUE")
		}
		s.Options = append(s.Options, algo.Setting{Name: name, Value: value})
		return nil
	},
	"timing": func(s *Scenario, args []string) error {
		name, value, _ := strings.Cut(strings.Join(args, " "), "=")
		i := slices.IndexFunc(timingFields, func(f timingField) bool { return f.name == name })
		d, err := time.ParseDuration(value)
		if i < 0 || err != nil || d <= 0 {
			var names []string
			for _, f := range timingFields {
				names = append(names, f.name)
			}
			return wanted("timing NAME=TIME, with a name among %s", strings.Join(names, ", "))
		}
		*timingFields[i].of(&s.config.Timing) = d
		return nil
	},
	"detector": func(s *Scenario, args []string) error {
		i := slices.Index(detections[:], strings.Join(args, " "))
		if i < 0 {
			return wanted("detector %s", strings.Join(detections[:], "|"))
		}
		s.config.Detector = Detection(i)
		return nil
	},
	"seed": func(s *Scenario, args []string) error {
		seed, err := strconv.ParseUint(strings.Join(args, " "), 10, 64)
		if err != nil {
			return wanted("seed NUMBER")
		}
		s.config.Seed = seed
		return nil
	},
	"delay": func(s *Scenario, args []string) (err error) {
		s.config.Delay, err = ParseDelay(strings.Join(args, " "))
		return err
	},
	"loss":      setFault(0),
	"duplicate": setFault(1),
	"reorder":   setFault(2),
}

func setFault(i int) func(*Scenario, []string) error {
	return func(s *Scenario, args []string) error {
		p, err := probability(args)
		*faultFields[i].of(&s.config.Faults) = p
		return err
	}
}

func probability(args []string) (float64, error) {
	text, percent := strings.CutSuffix(strings.Join(args, " "), "%")
	p, err := strconv.ParseFloat(text, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, wanted("a probability, as 0.05 or 5%%")
	}
	return p, nil
}

type command func(args []string) (func(*World) error, error)

// commands make a step of the rest of a line.
var commands = map[string]command{
	"cluster": func(args []string) (func(*World) error, error) {
		n, err := numbers(args...)
		if err != nil || len(n) == 0 {
			return nil, wanted("cluster SIZE [PRIORITY…]")
		}
		return func(w *World) error { return w.Cluster(n[0], n[1:]...) }, nil
	},
	"run":      timed("run", func(w *World, d time.Duration) error { w.Run(d); return nil }),
	"await":    timed("await", awaited),
	"heal":     bare("heal", (*World).Heal),
	"disarm":   bare("disarm", (*World).Disarm),
	"crash":    crash,
	"restart":  numbered("restart NODE", 1, func(w *World, n []int) error { return w.Restart(n[0]) }),
	"stop":     numbered("stop NODE", 1, func(w *World, n []int) error { return w.Stop(n[0]) }),
	"pause":    numbered("pause NODE", 1, func(w *World, n []int) error { return w.Pause(n[0]) }),
	"resume":   numbered("resume NODE", 1, func(w *World, n []int) error { return w.Resume(n[0]) }),
	"clock":    numbered("clock NODE PPM", 2, func(w *World, n []int) error { return w.SetClock(n[0], int64(n[1])) }),
	"campaign": numbered("campaign NODE", 1, func(w *World, n []int) error { return w.Campaign(n[0]) }),
	"priority": numbered("priority NODE NUMBER", 2, func(w *World, n []int) error { return w.SetPriority(n[0], n[1]) }),
	"join":     numbered("join NODE", 1, func(w *World, n []int) error { _, err := w.Join(n[0]); return err }),
	"leave":    numbered("leave NODE", 1, func(w *World, n []int) error { return w.Leave(n[0]) }),
	"remove":   numbered("remove AT NODE", 2, func(w *World, n []int) error { return w.Remove(n[0], n[1]) }),
	"withdraw": numbered("withdraw NODE", 1, func(w *World, n []int) error { return w.Withdraw(n[0]) }),
	"suspect":  numbered("suspect NODE PEER", 2, func(w *World, n []int) error { return w.Suspect(n[0], n[1]) }),
	"trust":    numbered("trust NODE PEER", 2, func(w *World, n []int) error { return w.Trust(n[0], n[1]) }),
	"learn":    numbered("learn NODE PEER", 2, func(w *World, n []int) error { return w.Learn(n[0], n[1]) }),
	"cut":      numbered("cut FROM TO", 2, func(w *World, n []int) error { return w.Cut(n[0], n[1]) }),
	"resign": func(args []string) (func(*World) error, error) {
		n, d, err := nodeAndTime(args)
		return func(w *World) error { return w.Resign(n, d) }, err
	},
	"partition": func(args []string) (func(*World) error, error) {
		var groups [][]int
		for _, arg := range args {
			group, err := numbers(strings.Split(arg, ",")...)
			if err != nil {
				return nil, wanted("partition NODE,NODE… NODE,NODE…")
			}
			groups = append(groups, group)
		}
		return func(w *World) error { return w.Partition(groups...) }, nil
	},
	"delay": func(args []string) (func(*World) error, error) {
		d, err := ParseDelay(strings.Join(args, " "))
		return func(w *World) error { return w.SetDelay(d) }, err
	},
	"link": func(args []string) (func(*World) error, error) {
		if len(args) != 3 {
			return nil, wanted("link FROM TO DELAY")
		}
		n, err := numbers(args[:2]...)
		if err != nil {
			return nil, wanted("link FROM TO DELAY")
		}
		d, err := ParseDelay(args[2])
		return func(w *World) error { return w.SetLink(n[0], n[1], d) }, err
	},
	"loss":      changeFault(0),
	"duplicate": changeFault(1),
	"reorder":   changeFault(2),
	"leader":    expectLeader,
	"follows":   expectFollows,
	"epoch": numbered("epoch NUMBER", 1, func(w *World, n []int) error {
		if _, epoch, agreed := w.Leader(); !agreed || epoch != algo.Epoch(n[0]) {
			return unmet(w)
		}
		return nil
	}),
}

func unmet(w *World) error { return fmt.Errorf("%w: %s", ErrExpected, w.Opinions()) }

func awaited(w *World, d time.Duration) error {
	before := len(w.Violations())
	w.Await(d)
	if after := w.Violations(); len(after) > before {
		return fmt.Errorf("%w: %w", ErrExpected, after[before])
	}
	return nil
}

func expectLeader(args []string) (func(*World) error, error) {
	if len(args) == 1 && args[0] == "none" {
		return func(w *World) error {
			for i := range w.nodes {
				if l, runs := w.Follows(i + 1); runs && !l.Vacant() {
					return unmet(w)
				}
			}
			return nil
		}, nil
	}
	return numbered("leader NODE, or leader none", 1, func(w *World, n []int) error {
		if leader, _, agreed := w.Leader(); !agreed || leader != n[0] {
			return unmet(w)
		}
		return nil
	})(args)
}

func expectFollows(args []string) (func(*World) error, error) {
	const usage = "follows NODE LEADER, or follows NODE none"
	if len(args) == 2 && args[1] == "none" {
		args = []string{args[0], "0"}
	}
	n, err := numbers(args...)
	if err != nil || len(n) != 2 {
		return nil, wanted(usage)
	}
	var leader algo.NodeID
	if n[1] > 0 {
		leader = ID(n[1])
	}
	return func(w *World) error {
		if l, runs := w.Follows(n[0]); !runs || l.ID != leader {
			return unmet(w)
		}
		return nil
	}, nil
}

func crash(args []string) (func(*World) error, error) {
	const usage = "crash NODE, crash NODE after save, or crash NODE after EFFECTS"
	if len(args) != 1 && (len(args) != 3 || args[1] != "after") {
		return nil, wanted(usage)
	}
	n, err := numbers(args[0])
	if err != nil {
		return nil, wanted(usage)
	}
	switch {
	case len(args) == 1:
		return func(w *World) error { return w.Crash(n[0]) }, nil
	case args[2] == "save":
		return func(w *World) error { return w.CrashAfterSave(n[0]) }, nil
	}
	effects, err := numbers(args[2])
	if err != nil {
		return nil, wanted(usage)
	}
	return func(w *World) error { return w.CrashAfter(n[0], effects[0]) }, nil
}

func changeFault(i int) command {
	return func(args []string) (func(*World) error, error) {
		p, err := probability(args)
		return func(w *World) error {
			f := w.network.faults
			*faultFields[i].of(&f) = p
			w.SetFaults(f)
			return nil
		}, err
	}
}

func bare(name string, do func(*World)) command {
	return func(args []string) (func(*World) error, error) {
		if len(args) > 0 {
			return nil, wanted("%s, and no more", name)
		}
		return func(w *World) error { do(w); return nil }, nil
	}
}

func timed(name string, do func(*World, time.Duration) error) command {
	return func(args []string) (func(*World) error, error) {
		d, err := time.ParseDuration(strings.Join(args, " "))
		if err != nil || d < 0 {
			return nil, wanted("%s TIME", name)
		}
		return func(w *World) error { return do(w, d) }, nil
	}
}

func numbered(usage string, count int, do func(*World, []int) error) command {
	return func(args []string) (func(*World) error, error) {
		n, err := numbers(args...)
		if err != nil || len(n) != count {
			return nil, wanted("%s", usage)
		}
		return func(w *World) error { return do(w, n) }, nil
	}
}

func nodeAndTime(args []string) (int, time.Duration, error) {
	const usage = "resign NODE TIME"
	if len(args) != 2 {
		return 0, 0, wanted(usage)
	}
	n, err := numbers(args[0])
	d, errTime := time.ParseDuration(args[1])
	if cmp.Or(err, errTime) != nil || d < 0 {
		return 0, 0, wanted(usage)
	}
	return n[0], d, nil
}

func numbers(texts ...string) ([]int, error) {
	var all []int
	for _, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, ErrSyntax
		}
		all = append(all, n)
	}
	return all, nil
}
