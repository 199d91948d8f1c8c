// Command page writes an HTML page with plots, tables and all data from a file in Go's benchmark
// format, which elect bench or go test -bench wrote:
//
//	go run . FILE > report.html
//
// The page needs no network and no other file. The command is a separate module, so that elect does
// not depend on the plotting libraries.
package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "page: want one file, as in: go run . FILE > report.html")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "page: %v\n", err)
		os.Exit(1)
	}
}

//go:embed page.html
var text string

// write writes the page for a file.
func write(out io.Writer, path string) error {
	file, err := result.ReadFile(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sections, err := sectionsOf(file.Results)
	if err != nil {
		return err
	}
	page, err := template.New("page").Parse(text)
	if err != nil {
		return err
	}
	config := make(map[string]string)
	for _, c := range file.Results[0].Config {
		config[c.Key] = string(c.Value)
	}
	return page.Execute(out, map[string]any{
		"Name": filepath.Base(path), "Notes": file.Notes, "Config": config, "Trials": len(file.Results),
		"Sections": sections, "Tables": report.Tables(file.Results), "Data": string(data),
	})
}
