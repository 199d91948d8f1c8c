package testkit

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var pictures = flag.String("pictures", "", "`folder` for the pictures of the pages, to look at")

// browserTimeout bounds the run of a script in a browser.
const browserTimeout = 6 * time.Minute

// Browser returns the command that runs a script of web/browser on the page at url. Its arguments are the
// browser, url and a folder for pictures. The test is skipped without -long, or if something is not installed.
func Browser(t testing.TB, script, url string) *exec.Cmd {
	t.Helper()
	OnlyLong(t)
	chromium, noChromium := exec.LookPath("chromium")
	node, noNode := exec.LookPath("node")
	_, noLibrary := os.Stat(filepath.Join(filepath.Dir(script), "node_modules", "playwright-core"))
	Need(t, noChromium == nil && noNode == nil && noLibrary == nil, "chromium, node, and 'npm ci' in web/browser")
	folder := *pictures
	if folder == "" {
		folder = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, node, script, chromium, url, folder)
	cmd.Stderr = os.Stderr
	return cmd
}
