package result

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/elect-go/elect/internal/hostile"
)

// WriteJSON writes r as one object. Its error wraps ErrFormat, or is that of out.
func (r *Run) WriteJSON(out io.Writer) error {
	if err := r.Check(); err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// columns are those of the CSV that are no labels. The first stands before them, the
// others behind.
var columns = []string{"group", "round", "seed", "metric", "value"}

// WriteCSV writes r as a table with a line for each value of each trial:
//
//	# {"format":1,"began":"…","command":"…","seed":1,"machine":{…}}
//	group,algorithm,case,n,round,seed,metric,value
//	messages,bully,worst,16,1,1,msgs/election,239
//
// The first line is the rest of r, as JSON; readers that take # for a comment skip it.
// There is a column for every label that any trial has, empty where a trial has none. Its
// error wraps ErrFormat, or is that of out.
func (r *Run) WriteCSV(out io.Writer) error {
	if err := r.Check(); err != nil {
		return err
	}
	head := *r
	head.Trials = nil
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "# %s\n", text); err != nil {
		return err
	}
	labels := make(map[string]string)
	for _, t := range r.Trials {
		maps.Copy(labels, t.Labels)
	}
	keys := ordered(labels)
	w := csv.NewWriter(out)
	line := slices.Concat(columns[:1], keys, columns[1:])
	if err := w.Write(line); err != nil {
		return err
	}
	for _, t := range r.Trials {
		for _, metric := range slices.Sorted(maps.Keys(t.Values)) {
			line = append(line[:0], string(t.Group))
			for _, key := range keys {
				line = append(line, t.Labels[key])
			}
			line = append(line, strconv.Itoa(t.Round), strconv.FormatUint(t.Seed, 10), metric,
				strconv.FormatFloat(t.Values[metric], 'g', -1, 64))
			if err := w.Write(line); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// maxText bounds what is read, in bytes: hundreds of thousands of trials, but no device.
const maxText = 64 << 20

// Read reads what WriteJSON or WriteCSV wrote; which of the two is seen at its first
// byte. Its error wraps ErrFormat, or is that of in.
func Read(in io.Reader) (*Run, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: it has more than %d MiB", ErrFormat, maxText>>20)
	}
	r := new(Run)
	if bytes.HasPrefix(text, []byte("#")) {
		err = r.readCSV(text)
	} else {
		err = r.readJSON(text)
	}
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ReadFile reads a file. Its error names it.
func ReadFile(path string) (*Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	defer f.Close()
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *Run) readJSON(text []byte) error {
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

func (r *Run) readCSV(text []byte) error {
	head, table, _ := bytes.Cut(text, []byte("\n"))
	if err := r.readJSON(bytes.TrimPrefix(head, []byte("#"))); err != nil {
		return err
	}
	lines, err := csv.NewReader(bytes.NewReader(table)).ReadAll() // each as long as the first
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(lines) == 0 {
		return fmt.Errorf("%w: no line says what the columns are", ErrFormat)
	}
	names := lines[0]
	behind := len(names) - len(columns) + 1
	if behind < 1 || names[0] != columns[0] || !slices.Equal(names[behind:], columns[1:]) {
		return fmt.Errorf("%w: the columns are %s, want group, labels, %s",
			ErrFormat, hostile.Plain(strings.Join(names, ", ")), strings.Join(columns[1:], ", "))
	}
	for at, line := range lines[1:] {
		if err := r.take(names, line); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrFormat, at+3, err)
		}
	}
	return nil
}

// take adds a line of the CSV to the trial before it, if it is of that one, or to a new
// one.
func (r *Run) take(names, line []string) error {
	behind := line[len(line)-len(columns)+1:]
	round, errRound := strconv.Atoi(behind[0])
	seed, errSeed := strconv.ParseUint(behind[1], 10, 64)
	metric := behind[2]
	value, errValue := strconv.ParseFloat(behind[3], 64)
	if err := cmp.Or(errRound, errSeed, errValue); err != nil {
		return err
	}
	t := Trial{Group: Group(line[0]), Labels: make(map[string]string), Round: round, Seed: seed, Values: make(map[string]float64)}
	for at := 1; at <= len(line)-len(columns); at++ {
		if line[at] != "" {
			t.Labels[names[at]] = line[at]
		}
	}
	if last := len(r.Trials) - 1; last >= 0 && r.Trials[last].sameAs(t) {
		t = r.Trials[last]
	} else {
		r.Trials = append(r.Trials, t)
	}
	if _, twice := t.Values[metric]; twice {
		return errors.New(hostile.Plain(metric) + " is there twice")
	}
	t.Values[metric] = value
	return nil
}

// sameAs reports whether two are one trial, their values aside.
func (t Trial) sameAs(o Trial) bool {
	return t.Group == o.Group && t.Round == o.Round && t.Seed == o.Seed && maps.Equal(t.Labels, o.Labels)
}
