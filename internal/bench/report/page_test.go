package report

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/bench/machine"
	"github.com/elect-go/elect/internal/bench/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

// hostile is text that must not become part of the page's markup.
const hostile = `<script>alert("1")&'`

// run is one with a little of everything.
func run() *result.Run {
	r := &result.Run{
		Format: result.Format, Began: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Command: "elect bench --seed 1", Seed: 1,
		Machine: machine.Machine{System: "linux/amd64", Cores: 2, Model: hostile, Kernel: "6.1", Go: "go1.26", Load: "0.1 0.1 0.1"},
		Skipped: []string{"failover of ring after drop: " + hostile},
	}
	add := func(g result.Group, round int, labels string, values map[string]float64) {
		t := result.Trial{Group: g, Round: round, Seed: uint64(round), Labels: make(map[string]string), Values: values}
		for _, label := range strings.Split(labels, "|") {
			name, value, _ := strings.Cut(label, ":")
			t.Labels[name] = value
		}
		r.Trials = append(r.Trials, t)
	}
	for _, at := range [][2]float64{{9, 71}, {17, 271}, {33, 1055}} {
		labels := "algorithm:textbook-bully|case:worst|convention:textbook|n:" + strconv.Itoa(int(at[0]))
		add(result.Messages, 1, labels, map[string]float64{result.MetricSent: at[1]})
		add(result.Turnaround, 1, labels, map[string]float64{result.MetricTurnaround: 4})
	}
	for round, sent := range []float64{30, 33, 40} {
		add(result.Messages, round+1, "algorithm:ring|case:all-start|convention:detector|n:9", map[string]float64{result.MetricSent: sent})
	}
	for round, ms := range []float64{2, 2.5, 3, 300} {
		add(result.Failover, round+1, "algorithm:bully|signal:kill|n:5", map[string]float64{result.MetricFailover: ms})
		add(result.Failover, round+1, "algorithm:"+strings.ReplaceAll(hostile, "/", "")+"|signal:kill|n:5", map[string]float64{result.MetricFailover: 2 * ms})
	}
	add(result.Failover, 1, "algorithm:bully|signal:<b>|n:3", map[string]float64{result.MetricFailover: 7})
	for _, n := range []string{"5", "15", "45"} {
		add(result.Idle, 1, "algorithm:vote|n:"+n, map[string]float64{result.MetricFrames: 1.5, result.MetricProcessor: 0.2})
	}
	return r
}

func write(t *testing.T, r *result.Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WritePage(&b, r))
	return b.String()
}

// withoutData leaves out the addresses that hold the data: they are looked at by themselves.
func withoutData(page string) string {
	return regexp.MustCompile(`base64,[A-Za-z0-9+/=]*`).ReplaceAllString(page, "base64,")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "with -update it is written anew")
}

func TestThePageAndItsTables(t *testing.T) {
	page := withoutData(write(t, run()))
	_, body, found := strings.Cut(page, "<body>\n")
	require.True(t, found)
	golden(t, "page.html", body)
	var tables bytes.Buffer
	require.NoError(t, WriteTables(&tables, run()))
	golden(t, "tables.txt", tables.String())
}

// TestThePageIsWhole reads it as XML, which forgives nothing, and looks for what would
// need a network, or is not of this package.
func TestThePageIsWhole(t *testing.T) {
	page := write(t, run())
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!DOCTYPE html>\n")))
	elements := make(map[string]int)
	classes := make(map[string]bool)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		start, isStart := token.(xml.StartElement)
		if !isStart {
			continue
		}
		elements[start.Name.Local]++
		for _, a := range start.Attr {
			switch a.Name.Local {
			case "class":
				for _, class := range strings.Fields(a.Value) {
					classes[class] = true
				}
			case "href":
				require.True(t, strings.HasPrefix(a.Value, "data:"), a.Value)
			case "src", "style", "onclick", "onload":
				t.Errorf("%s has %s", start.Name.Local, a.Name.Local)
			}
		}
	}
	require.Zero(t, elements["script"]+elements["b"]+elements["link"]+elements["img"]+elements["iframe"])
	// Two cases of messages, one of turnaround; a kill and another fault; two costs at rest.
	require.Equal(t, 7, elements["svg"])
	style := page[strings.Index(page, "<style>"):strings.Index(page, "</style>")]
	require.NotContains(t, style, "url(")
	require.NotContains(t, style, "@import")
	require.Contains(t, style, "prefers-color-scheme: dark")
	for class := range classes {
		require.Contains(t, style, "."+class, "the style says nothing of the class %s", class)
	}
	require.NotContains(t, page, hostile)
}

func TestTheDataOfThePageIsTheRun(t *testing.T) {
	links := regexp.MustCompile(`href="data:([a-z/]+);base64,([^"]*)"`).FindAllStringSubmatch(write(t, run()), -1)
	require.Len(t, links, 2)
	for at, kind := range []string{"application/json", "text/csv"} {
		require.Equal(t, kind, links[at][1])
		text, err := base64.StdEncoding.DecodeString(links[at][2])
		require.NoError(t, err)
		read, err := result.Read(bytes.NewReader(text))
		require.NoError(t, err)
		again := write(t, read)
		require.Equal(t, strings.Count(withoutData(again), "<svg"), 7)
		require.ElementsMatch(t, run().Trials, read.Trials)
	}
}

func TestARunThatCannotBeWritten(t *testing.T) {
	r := run()
	r.Trials[0].Group = "nonsense"
	var b bytes.Buffer
	require.ErrorIs(t, WritePage(&b, r), result.ErrFormat)
	require.Zero(t, b.Len())
}

// TestAnEmptyRunHasAPage: all was skipped.
func TestAnEmptyRunHasAPage(t *testing.T) {
	r := &result.Run{Format: result.Format, Skipped: []string{"all of it"}}
	require.Contains(t, write(t, r), "all of it")
	var tables bytes.Buffer
	require.NoError(t, WriteTables(&tables, r))
	require.Equal(t, "not measured: all of it\n", tables.String())
}
