// Package host is what simulator, explorer, conformance suite and tests of the
// algorithms share: how nodes are numbered and called.
package host
