package labpage

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/internal/pagebase"
)

// MaxExport is how many bytes an exported page may have after gzip.
const MaxExport = 1_300_000

// Module is the WebAssembly module that runs the scenarios of an exported page.
type Module struct {
	Wasm    []byte // command internal/labpage/module
	Support []byte // wasm_exec.js of the Go release that has built it
}

//go:embed module/worker.js
var worker []byte

// BuildModule builds the module from a clone of elect, with the go command. The clone must have the page of this
// program: another version may send other requests.
func BuildModule(ctx context.Context, clone string) (Module, error) {
	if err := compareFiles(clone); err != nil {
		return Module{}, err
	}
	dir, err := os.MkdirTemp("", "elect-lab-")
	if err != nil {
		return Module{}, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "module.wasm")
	// The flags leave out what only debuggers need, and what differs between machines. Functions are not inlined: that
	// makes the module a tenth smaller.
	if _, err := runGo(ctx, clone, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-gcflags=all=-l",
		"-o", out, "./internal/labpage/module"); err != nil {
		return Module{}, err
	}
	root, err := runGo(ctx, clone, "env", "GOROOT")
	if err != nil {
		return Module{}, err
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return Module{}, err
	}
	m := Module{Wasm: compact(wasm)}
	m.Support, err = os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js"))
	return m, err
}

// compareFiles compares the files of the page with those of a clone.
func compareFiles(clone string) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		ours, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		theirs, err := os.ReadFile(filepath.Join(clone, "internal", "labpage", filepath.FromSlash(name)))
		if err == nil && !bytes.Equal(ours, theirs) {
			err = fmt.Errorf("labpage: the clone %s is another version of elect than this program: %s differs", clone, name)
		}
		return err
	})
}

// runGo runs the go command for WebAssembly in a folder, and returns its output.
func runGo(ctx context.Context, dir string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWORK=off")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("labpage: the command go builds the WebAssembly module of the page, and is not installed: %w", err)
	case err != nil:
		return "", fmt.Errorf("labpage: go %s: %w\n%s", args[0], err, cmp.Or(strings.TrimSpace(stderr.String()), "no output"))
	}
	return string(out), nil
}

// Export returns the page as one file that a browser opens from a disk: it contains its scripts, its styles and the
// module. As in the page of [New], the first picture is data, so that the page draws it before it loads the module.
func Export(ctx context.Context, build lab.Build, module Module) ([]byte, error) {
	values, err := content(ctx, build)
	if err != nil {
		return nil, err
	}
	css, err := files.ReadFile("page/lab.css")
	if err != nil {
		return nil, err
	}
	imports, err := importMap()
	if err != nil {
		return nil, err
	}
	packed, err := Pack(module.Wasm)
	if err != nil {
		return nil, err
	}
	const start = "import 'lab/main.js';"
	style := compactText(pagebase.Style + string(css))
	notice, support, _ := strings.Cut(string(module.Support), "\n\n") // the first lines name the owner and the licence
	code := notice + "\n" + compactText(support+"\n"+string(worker))
	for _, text := range []string{style, code, imports} {
		if at := endsElement.FindString(text); at != "" {
			return nil, fmt.Errorf("labpage: a part of the exported page contains %q", at)
		}
	}
	// The file loads nothing, and sends nothing.
	policy := "default-src 'none'; script-src data: 'wasm-unsafe-eval' " + hashOf(imports) + " " + hashOf(start) +
		"; style-src " + hashOf(style) + "; img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"
	for mark, value := range map[string]string{
		`<meta charset="utf-8">`: `<meta charset="utf-8">` + "\n" + `<meta http-equiv="Content-Security-Policy" content="` + policy + `">`,
		`<link rel="stylesheet" href="base.css">` + "\n" + `<link rel="stylesheet" href="lab.css">`: "<style>" + style + "</style>",
		`<script type="module" src="main.js"></script>`: `<script type="text/plain" id="module-worker">` + code + "</script>\n" +
			`<script type="text/plain" id="module">` + base64.StdEncoding.EncodeToString(packed) + "</script>\n" +
			`<script type="importmap">` + imports + "</script>\n" +
			`<script type="module">` + start + "</script>",
	} {
		values[mark] = []byte(value)
	}
	page, err := files.ReadFile("page/page.html")
	if err != nil {
		return nil, err
	}
	return fill(page, values)
}

// endsElement matches what ends an element script or style, or changes where it ends.
var endsElement = regexp.MustCompile(`(?i)</(script|style)|<!--`)

// inURL escapes what has a meaning in a data URL, or is not kept there. More would only make the page larger.
var inURL = strings.NewReplacer("%", "%25", "#", "%23", "\n", "%0A", "\r", "%0D", "\t", "%09")

var relativeImport = regexp.MustCompile(`((?:from|import) ?\(?)'\./`)

// commentLine matches an empty line, a line that has only a comment, or the spaces before another line.
var commentLine = regexp.MustCompile(`(?m)^[ \t]*(//.*\n|\n)?`)

// compactText removes comments that have a line of their own, empty lines, and the spaces before a line. No text of the
// page has a string of several lines in which these matter.
func compactText(text string) string { return commentLine.ReplaceAllString(text, "") }

// importMap returns an import map with the modules of the page. A page from a disk may not load other files, so each
// module is a URL that contains its text. In such a module a relative import has no meaning, so the names become
// absolute.
func importMap() (string, error) {
	imports := make(map[string]string)
	for name, text := range modules() {
		text = relativeImport.ReplaceAll([]byte(compactText(string(text))), []byte("$1'lab/"))
		imports["lab/"+name] = "data:text/javascript;charset=utf-8," + inURL.Replace(string(text))
	}
	text, err := json.Marshal(map[string]any{"imports": imports})
	return string(text), err
}

// hashOf returns a source of a content security policy that allows an inline element with this text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Pack returns data after gzip. The same data give the same bytes.
func Pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = cmp.Or(err, w.Close())
	return slices.Clip(packed.Bytes()), err
}
