package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/elect-go/elect/internal/pagebase"
)

// The page is one text, so that it loads in one request. By the policy below, a browser runs only this script and uses
// only this style, even if other text gets into the page.
var (
	//go:embed page/page.html
	markup string
	//go:embed page/style.css
	ownStyle string
	//go:embed page/script.js
	ownScript string

	style  = pagebase.Style + ownStyle
	script = pagebase.Script + ownScript // one module
	page   = strings.NewReplacer("{{style}}", style, "{{script}}", script).Replace(markup)
)

// policy is the Content-Security-Policy of the page. It lets the page send requests only to its own node.
var policy = "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
	"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// hash returns the name of a text in a policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(page))
}
