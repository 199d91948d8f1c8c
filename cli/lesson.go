package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/lesson"
)

// lessonFlags are the flags of elect lesson.
type lessonFlags struct {
	step     bool
	solution bool
	scenario string
	ascii    bool
	width    int
	json     bool
}

func (p *program) newLesson() *cobra.Command {
	flags := &lessonFlags{}
	cmd := &cobra.Command{
		Use:   "lesson [N]",
		Short: "Learn how leaders are elected, step by step",
		Long: `Play a lesson in the terminal; without N, list them. A lesson asks a question, takes an
answer, shows what happens one moment after the other, and explains it. Nothing is
prepared: each run happens when it is shown, and what the lesson says of it is checked.
It needs no network and no clone.

In a terminal the lesson pauses. Enter continues; in a run, b goes one moment back, e goes
to the end of the run, and q quits the lesson. Where input or output is no terminal,
everything is printed at once; with --step the lesson pauses anyway, and reads lines.

With --json, without N a list of objects, with N one object: lesson (its number), title,
afterwards (what a student knows then), question, answer (in short), runs (a list of
objects: scenario, title, algorithm, moments (how many there are), sent (messages of the
algorithm), holds, error where something did not hold), and exercise. The list has no runs.

Exit status: 0 done, 1 something in a run did not hold, 2 a problem in the command line,
130 interrupted.`,
		Example: `  elect lesson
  elect lesson 1
  elect lesson 1 --solution
  elect lesson 1 --scenario 1-worst > worst.txt && elect sim --scenario worst.txt
  elect lesson 3 --json | jq '.runs[].sent'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runLesson(cmd, flags, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.BoolVar(&flags.step, "step", false, "stop, and read lines, also where there is no terminal")
	set.BoolVar(&flags.solution, "solution", false, "print the solution of the exercise")
	set.StringVar(&flags.scenario, "scenario", "", "print the scenario of this `name`, for elect sim")
	set.BoolVar(&flags.ascii, "ascii", false, "draw with characters that every terminal has")
	set.IntVar(&flags.width, "width", 0, "of a drawing, in `columns` (default that of the terminal, else 100)")
	set.BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

func (p *program) runLesson(cmd *cobra.Command, flags *lessonFlags, args []string) error {
	all, err := lesson.All()
	if err != nil {
		return err
	}
	l, err := flags.check(all, args)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	s := &lessonPlayer{lessonFlags: flags, ctx: ctx, out: cmd.OutOrStdout(), build: p.buildLesson, lesson: l}
	s.openInput(cmd.InOrStdin())
	switch {
	case l == nil:
		return s.list(all)
	case flags.scenario != "":
		text, err := lesson.Scenario(flags.scenario)
		return cmp.Or(err, s.write(text))
	case flags.solution:
		text, err := l.Solution()
		return cmp.Or(err, s.write(text+"\n"))
	case flags.json:
		return s.printJSON()
	}
	return s.play()
}

// check returns the lesson, nil for the list of lessons, or all problems in the flags.
func (f *lessonFlags) check(all []lesson.Lesson, args []string) (found *lesson.Lesson, err error) {
	var problems diag.List
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(all) {
			problems.Addf("the lesson is %q, want 1 to %d", args[0], len(all))
		} else {
			found = &all[n-1]
		}
	}
	if f.scenario != "" && found != nil && !slices.Contains(found.Runs, f.scenario) {
		problems.Addf("--scenario is %q, want one of %s", f.scenario, strings.Join(found.Runs, ", "))
	}
	if len(args) == 0 && (f.step || f.solution || f.scenario != "") {
		problems.Addf("--step, --solution and --scenario are for one lesson: want its number")
	}
	if exclusive(f.step, f.solution, f.scenario != "", f.json) {
		problems.Addf("--step, --solution, --scenario and --json are different things: want one")
	}
	if f.width < 0 || f.width > 0 && f.width < minWidth {
		problems.Addf("--width is %d, want at least %d", f.width, minWidth)
	}
	return found, problems.Err(commandLinePlace)
}

// exclusive reports whether more than one of the conditions holds.
func exclusive(flags ...bool) bool {
	set := slices.DeleteFunc(flags, func(set bool) bool { return !set })
	return len(set) > 1
}

// buildLesson makes the algorithm for a scenario.
func (p *program) buildLesson(name string, defaults, timing algo.Timing, options []algo.Setting) (algo.Spec, error) {
	return p.fields.Spec(name, defaults, timing, withSettings(options, nil))
}

// lessonPlayer plays a lesson.
type lessonPlayer struct {
	*lessonFlags
	ctx    context.Context
	out    io.Writer
	build  lesson.Build
	lesson *lesson.Lesson
	lines  <-chan string // input of the student; nil if the lesson does not pause
	clears bool          // a drawing replaces the previous one
}

// errQuit ends a lesson early without failure.
var errQuit = errors.New("quit")

func (s *lessonPlayer) openInput(in io.Reader) {
	file, isFile := in.(*os.File)
	s.clears = redraws(s.out)
	if !s.step && !(s.clears && isFile && term.IsTerminal(int(file.Fd()))) {
		return
	}
	lines := make(chan string)
	s.lines = lines
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case lines <- strings.TrimSpace(scanner.Text()):
			case <-s.ctx.Done():
				return
			}
		}
	}()
}

func (s *lessonPlayer) write(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// readLine prints a prompt and waits for a line. At the end of the input the lesson stops pausing.
func (s *lessonPlayer) readLine(prompt string) (string, error) {
	if s.lines == nil {
		return "", nil
	}
	if err := s.write(prompt); err != nil {
		return "", err
	}
	select {
	case line, more := <-s.lines:
		if !more {
			s.lines = nil
			return "", s.write("\n")
		}
		if line == "q" {
			return "", errQuit
		}
		return line, nil
	case <-s.ctx.Done():
		return "", context.Cause(s.ctx)
	}
}

// list prints the numbers and titles of the lessons.
func (s *lessonPlayer) list(all []lesson.Lesson) error {
	if s.json {
		objects := []lessonObject{}
		for i := range all {
			objects = append(objects, newLessonObject(&all[i]))
		}
		return json.NewEncoder(s.out).Encode(objects)
	}
	var b strings.Builder
	for i := range all {
		fmt.Fprintf(&b, "%d  %s\n", all[i].Number, all[i].Title)
	}
	return s.write(b.String() + "\nPlay one: elect lesson 1\n")
}

// play shows a whole lesson. It pauses at the question and in the runs.
func (s *lessonPlayer) play() error {
	l := s.lesson
	heading := fmt.Sprintf("%d. %s", l.Number, l.Title)
	err := s.write(heading + "\n" + strings.Repeat("=", len([]rune(heading))) + "\n")
	for _, h := range l.Headings() {
		if err == nil {
			err = s.section(h)
		}
	}
	if errors.Is(err, errQuit) {
		return nil
	}
	return cmp.Or(err, s.write(fmt.Sprintf("\nThe solution: elect lesson %d --solution\n", l.Number)))
}

// section shows one section and pauses at its end, unless a question has just paused or follows.
func (s *lessonPlayer) section(heading string) error {
	if err := s.write("\n" + heading + "\n" + strings.Repeat("-", len([]rune(heading))) + "\n\n"); err != nil {
		return err
	}
	if heading == "Question" {
		return s.question()
	}
	for run, text := range lesson.Parts(s.lesson.Section(heading)) {
		if run != "" {
			if err := s.run(run); err != nil {
				return err
			}
			text = "\n" + text
		}
		if err := s.write(text + "\n"); err != nil {
			return err
		}
	}
	if heading == "Situation" {
		return nil
	}
	_, err := s.readLine("\n[Enter: next, q: quit] ")
	return err
}

// question waits for an answer, and prints the right one.
func (s *lessonPlayer) question() error {
	if err := s.write(s.lesson.Question() + "\n"); err != nil {
		return err
	}
	line, err := s.readLine("\nYour answer: ")
	switch {
	case err != nil:
		return err
	case line == "":
	case s.lesson.IsRight(line):
		err = s.write("\nRight.\n")
	default:
		err = s.write(fmt.Sprintf("\nYou say: %s. The run will show: %s.\n", strings.TrimRight(line, "."), s.lesson.ShortAnswer()))
	}
	return cmp.Or(err, s.write("\n"+s.lesson.Answer()+"\n"))
}

// run shows a run: the whole drawing, or one moment after the other.
func (s *lessonPlayer) run(name string) error {
	r, err := lesson.Play(s.ctx, name, s.build)
	if err != nil {
		return err
	}
	if err := cmp.Or(s.write(fmt.Sprintf("\nRun %s, %s: %s\n\n", name, r.Algorithm, r.Title())), s.moments(r)); err != nil {
		return err
	}
	if r.Err != nil {
		return fmt.Errorf("lesson %d: %s", s.lesson.Number, trimPackages(r.Err))
	}
	return nil
}

// moments shows a run up to each of its moments, as the student selects them.
func (s *lessonPlayer) moments(r *lesson.Run) error {
	all := r.Diagram().Moments()
	at, clears := 0, false // the first drawing does not clear the text above it
	if s.lines == nil {
		at = len(all) - 1
	}
	for {
		d := r.Diagram()
		d.Width, d.ASCII = widthOf(s.out, s.width), s.ascii
		if at < len(all)-1 {
			d.Until = max(all[at], 1)
		}
		drawn := d.String()
		if clears && s.lines != nil {
			drawn = "\x1b[H\x1b[2J" + r.Title() + "\n\n" + drawn
		}
		if err := s.write(drawn); err != nil || s.lines == nil {
			return err
		}
		clears = s.clears
		line, err := s.readLine(fmt.Sprintf("\n[moment %d of %d. Enter: next, b: back, e: end, q: quit] ", at+1, len(all)))
		if err != nil {
			return err
		}
		switch {
		case line == "b":
			at = max(0, at-1)
		case line == "e" && at < len(all)-1 || s.lines == nil:
			at = len(all) - 1
		default:
			at++
		}
		if at >= len(all) {
			return nil
		}
	}
}

// lessonObject is a lesson, as JSON.
type lessonObject struct {
	Lesson     int         `json:"lesson"`
	Title      string      `json:"title"`
	Afterwards string      `json:"afterwards"`
	Question   string      `json:"question"`
	Answer     string      `json:"answer"`
	Runs       []lessonRun `json:"runs,omitempty"`
	Exercise   string      `json:"exercise"`
}

type lessonRun struct {
	Scenario  string `json:"scenario"`
	Title     string `json:"title"`
	Algorithm string `json:"algorithm"`
	Moments   int    `json:"moments"`
	Sent      int    `json:"sent"`
	Holds     bool   `json:"holds"`
	Error     string `json:"error,omitempty"`
}

func newLessonObject(l *lesson.Lesson) lessonObject {
	return lessonObject{
		Lesson: l.Number, Title: l.Title, Afterwards: l.Section("Afterwards you know"), Question: l.Question(), Answer: l.ShortAnswer(), Exercise: l.Section("Exercise"),
	}
}

// printJSON plays all runs of the lesson and prints the object.
func (s *lessonPlayer) printJSON() error {
	o := newLessonObject(s.lesson)
	var failed error
	for _, name := range s.lesson.Runs {
		r, err := lesson.Play(s.ctx, name, s.build)
		if err != nil {
			return err
		}
		run := lessonRun{Scenario: name, Title: r.Title(), Algorithm: r.Algorithm, Moments: len(r.Diagram().Moments()), Sent: r.Sent, Holds: r.Err == nil}
		if r.Err != nil {
			run.Error = trimPackages(r.Err)
			failed = cmp.Or(failed, fmt.Errorf("lesson %d: %s", s.lesson.Number, run.Error))
		}
		o.Runs = append(o.Runs, run)
	}
	return cmp.Or(json.NewEncoder(s.out).Encode(o), failed)
}
