// Package examples has the source of an example for the command that makes a copy of it.
package examples

import "embed"

// Omega has package omega: the algorithm, its tests, its command and its scenario. 'elect new' makes a module of them.
//
//go:embed omega/omega.go omega/omega_test.go omega/cmd/main.go omega/scenario.txt
var Omega embed.FS
