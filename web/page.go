package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// The page is one text, so that it loads at once and from nowhere else. A browser runs that script and takes that
// style only, whatever comes into the page.
var (
	//go:embed page/page.html
	markup string
	//go:embed page/style.css
	style string
	//go:embed page/script.js
	script string

	page = strings.NewReplacer("{{style}}", style, "{{script}}", script).Replace(markup)
)

// policy has a browser load nothing from anywhere but what the page asks the node.
var policy = "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
	"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// hash is how a policy names a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Stylesheet returns the style of the page. The other pages of the command use it too.
func Stylesheet() string { return style }

func servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(page))
}
