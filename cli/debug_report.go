package cli

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/elect-go/elect/internal/buildinfo"
)

// debugReport is the content of the file that elect debug writes.
type debugReport struct {
	made    time.Time
	answers []*debugAnswer
}

// timeName is the time of the report as a part of a file name.
func (r *debugReport) timeName() string { return r.made.Format("20060102T150405Z") }

// nameFolders gives each member that answered a folder of its own, on file systems without case, too.
func (r *debugReport) nameFolders() {
	taken := map[string]bool{"report.txt": true}
	for _, a := range r.answers {
		if a.isEmpty() {
			continue
		}
		name := folderName(a)
		a.folder = name
		for i := 2; taken[strings.ToLower(a.folder)]; i++ {
			a.folder = fmt.Sprintf("%s-%d", name, i)
		}
		taken[strings.ToLower(a.folder)] = true
	}
}

// configObject is the content of config.json.
type configObject struct {
	About    map[string]string `json:"about"`
	Settings map[string]string `json:"settings"`
	Recorded uint64            `json:"events_recorded"`
}

// write writes the tar. All of it is in one folder, named after the time.
func (r *debugReport) write(w io.Writer, compressed bool) error {
	if compressed {
		zipped := gzip.NewWriter(w)
		if err := r.write(zipped, false); err != nil {
			return err
		}
		return zipped.Close()
	}
	out := tar.NewWriter(w)
	add := func(name string, content []byte) error {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join("elect-debug-"+r.timeName(), name), Mode: 0o600, Size: int64(len(content)), ModTime: r.made,
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		_, err := out.Write(content)
		return err
	}
	var text bytes.Buffer
	if err := r.print(&text); err != nil {
		return err
	}
	if err := add("report.txt", text.Bytes()); err != nil {
		return err
	}
	for _, a := range r.answers {
		files, err := a.files()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := add(path.Join(a.folder, name), files[name]); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// files returns the files of a member.
func (a *debugAnswer) files() (map[string][]byte, error) {
	files := make(map[string][]byte)
	objects := make(map[string]any)
	if a.Status != nil {
		objects["status.json"] = a.Status
	}
	if a.failed == "" {
		objects["config.json"] = configObject{a.debug.About, a.debug.Settings, a.debug.Recorded}
		files["events.jsonl"] = []byte(strings.Join(append(a.debug.Events, ""), "\n"))
	}
	for name, object := range objects {
		text, err := json.MarshalIndent(object, "", "  ")
		if err != nil {
			return nil, err
		}
		files[name] = append(text, '\n')
	}
	return files, nil
}

// print writes report.txt.
func (r *debugReport) print(w io.Writer) error {
	fmt.Fprintf(w, "Made at %s by elect version %s.\n", r.made.Format(time.RFC3339), buildinfo.Read())
	fmt.Fprint(w, "This has names, addresses, paths and metadata, but no secret. Read it before you publish it.\n\n")
	states := make([]statusAnswer, len(r.answers))
	for i, a := range r.answers {
		states[i] = a.statusAnswer
	}
	if err := printAnswers(w, states, r.differences()); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nFOLDER\tID\tADDRESS\tVERSION\tGO\tPLATFORM\tUPTIME\tCLOCK\tEVENTS\n")
	for _, a := range r.answers {
		if about := a.debug.About; a.failed == "" {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d of %d\n", a.folder, about["id"], a.Addr, about["version"], about["go"], about["platform"],
				about["uptime"], a.clock(), len(a.debug.Events), a.debug.Recorded)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nCLOCK is the clock of the member minus the clock of the machine that made this, and exact to about a second.\n")
	for _, e := range r.errors() {
		fmt.Fprintf(w, "\nmissing  %s: %s\n", e.Addr, e.Reason)
	}
	return err
}

// clock returns the difference between the clock of the member and the own one.
func (a *debugAnswer) clock() string {
	t, err := time.Parse(time.RFC3339Nano, a.debug.About["time"])
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%+.1fs", t.Sub(a.at).Round(100*time.Millisecond).Seconds())
}

// individual are the properties and settings in which members differ, or may differ without effect, and those that the
// comparison of their statuses includes.
var individual = map[string]bool{
	"name": true, "id": true, "incarnation": true, "time": true, "started": true, "uptime": true, "cpus": true, "gomaxprocs": true,
	"goroutines": true, "listen": true, "advertise": true, "bootstrap": true, "join": true, "data_dir": true, "priority": true,
	"witness": true, "secret_file": true, "tls.cert": true, "tls.key": true, "tls.ca": true, "meta": true, "cluster": true, "algorithm": true,
}

// differences returns sentences about the statuses, the programs and the settings.
func (r *debugReport) differences() []string {
	var states []statusAnswer
	var members []string
	var facts []map[string]string // of the members with a debug report
	names := make(map[string]bool)
	for _, a := range r.answers {
		states = append(states, a.statusAnswer)
		if a.failed != "" {
			continue
		}
		all := maps.Clone(a.debug.About)
		maps.Copy(all, a.debug.Settings)
		members, facts = append(members, a.name()), append(facts, all)
		for name := range all {
			names[name] = true
		}
	}
	differ := differences(states)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if individual[name] {
			continue
		}
		var values []string
		for _, all := range facts {
			values = append(values, cmp.Or(all[name], "empty"))
		}
		differ = appendDifference(differ, name, members, values)
	}
	return differ
}
