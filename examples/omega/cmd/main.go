// Command cmd is the command elect with one algorithm more: omega stands beside those of
// this module, and every part of the command has it.
//
//	go run ./examples/omega/cmd demo --algorithm omega
//	go run ./examples/omega/cmd sim --algorithm omega --crashed 1 --diagram
//	go run ./examples/omega/cmd explore --algorithm omega
package main

import (
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cli"
	"github.com/elect-go/elect/examples/omega"
)

func main() {
	registry := builtin.Registry()
	registry["omega"] = omega.Factory
	cli.Main(registry)
}
