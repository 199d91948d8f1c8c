package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/exercise"
	"github.com/elect-go/elect/internal/scaffold"
)

func (p *program) newExercise() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exercise",
		Short: "List the exercises of the course, and make a module or a bundle of one",
		Long: `The exercises of the course. 'elect exercise new' makes a Go module with a skeleton, the task
and a test; 'elect grade' grades it. docs/exercises.md explains both to students and
teachers.`,
		Example: `  elect exercise list
  elect exercise new bully my-bully
  elect grade my-bully`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExerciseList(), newExerciseNew(), newExerciseBundle())
	return cmd
}

// exerciseObject is an exercise as JSON.
type exerciseObject struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Source string `json:"source"`
	Points int    `json:"points"`
}

func newExerciseList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the exercises",
		Long: `List the exercises, in the order of the course.

With --json, a list of objects: name, title, source (the paper), points (of a submission
without a fault).`,
		Example: `  elect exercise list
  elect exercise list --json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := []exerciseObject{}
			for _, e := range exercise.All() {
				all = append(all, exerciseObject{e.Name, e.Title, e.Source, e.Points()})
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			table, row := rows(cmd.OutOrStdout())
			for _, e := range all {
				row(e.Name, "%d points\t%s", e.Points, e.Title)
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a list of JSON objects")
	return cmd
}

// exerciseModule is a new module as JSON.
type exerciseModule struct {
	Exercise string   `json:"exercise"`
	Dir      string   `json:"dir"`
	Module   string   `json:"module"`
	Clone    string   `json:"clone"`
	Files    []string `json:"files"`
}

func newExerciseNew() *cobra.Command {
	var clone string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new NAME DIR",
		Short: "Make a Go module for an exercise",
		Long: `Make a Go module for an exercise: README.md with the task and its source, a skeleton, and a
test that 'go test' runs. DIR is the folder of the module. It must be empty, or not exist.

go.mod points to a clone of elect by a replace, so the module builds with GOPROXY=off. The
clone is that of --elect, or the one that this program was built from, or the one around
the working directory. 'elect exercise bundle' makes a module that needs no clone.

With --json, one object: exercise, dir, module (path of the module), clone (folder), files (a
list, relative to dir).`,
		Example: `  elect exercise new bully my-bully
  elect exercise new bully my-bully --elect ../elect`,
		Args: exactly(2, "the name of an exercise and a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := findExercise(args[0])
			if err != nil {
				return err
			}
			if problem := scaffold.Occupied(args[1]); problem != "" {
				return usagef("%s %s, want an empty folder, or none", args[1], problem)
			}
			source, err := cloneSource(cmd, clone)
			if err != nil {
				return err
			}
			m, err := e.Module(args[1], source)
			if err != nil {
				return err
			}
			if err := m.Write(); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(exerciseModule{e.Name, m.Dir, m.Path, source.Clone, m.Names()})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", m.Dir, e.Title)
			for _, file := range m.Names() {
				fmt.Fprintf(cmd.OutOrStdout(), "  %s\n", file)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Next: read %s/README.md. To begin, %s. Then\n  elect grade %s\n", m.Dir, e.Start, m.Dir)
			return err
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&clone, "elect", "", "`folder` of a clone of elect (default: the clone of this program)")
	set.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// cloneSource returns the clone of elect that an exercise is made from.
func cloneSource(cmd *cobra.Command, named string) (scaffold.Source, error) {
	clone, err := cloneFlag(cmd, named)
	if err != nil {
		return scaffold.Source{}, err
	}
	if clone == "" {
		return scaffold.Source{}, usagef("no clone of elect was found: name one with --elect DIR")
	}
	return scaffold.FromClone(clone)
}

// bundleObject is a bundle as JSON.
type bundleObject struct {
	Exercise string `json:"exercise"`
	File     string `json:"file"`
	Bytes    int    `json:"bytes"`
}

func newExerciseBundle() *cobra.Command {
	var clone string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bundle NAME FILE.zip",
		Short: "Pack an exercise with all that it is compiled with",
		Long: `Write a zip file with the module of an exercise and a vendor folder. Students need no clone and
no network for it: they unpack the file, and 'go test' and 'elect grade' work with the Go
toolchain alone. FILE.zip must not exist.

Packing needs a clone of elect: that of --elect, or the one that this program was built from,
or the one around the working directory.

With --json, one object: exercise, file, bytes (size of the file).`,
		Example: `  elect exercise bundle bully bully.zip
  elect grade bully    # once bully.zip is unpacked`,
		Args: exactly(2, "the name of an exercise and a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := findExercise(args[0])
			if err != nil {
				return err
			}
			source, err := cloneSource(cmd, clone)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			ctx, stop := interruptible(cmd)
			defer stop()
			if err := e.Bundle(ctx, source, &text); err != nil {
				return err
			}
			if err := writeNew(args[1], text.Bytes()); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(bundleObject{e.Name, args[1], text.Len()})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has %d bytes. After unzip, 'elect grade %s' needs no clone and no network.\n", args[1], text.Len(), e.Name)
			return err
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&clone, "elect", "", "`folder` of a clone of elect (default: the clone of this program)")
	set.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// writeNew writes a file that must not exist.
func writeNew(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

func findExercise(name string) (*exercise.Exercise, error) {
	if e := exercise.Find(name); e != nil {
		return e, nil
	}
	return nil, usagef("the exercise is %s, want one of %s", strconv.Quote(name), strings.Join(exercise.Names(), ", "))
}
