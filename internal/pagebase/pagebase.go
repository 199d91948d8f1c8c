// Package pagebase has what the page of a node and the page of the lab share: a stylesheet, and a JavaScript module
// that makes elements and draws the lanes of nodes. Each page adds its own rules and code.
package pagebase

import _ "embed"

var (
	// Style is the stylesheet: colours, text, tables and lanes, in light and in dark.
	//go:embed base.css
	Style string
	// Script is the module. It imports nothing, so a page may also put it before a module of its own, as one text.
	//go:embed base.js
	Script string
)
