// Command cmd is the command elect with omega next to the algorithms of elect.
//
//	go run ./examples/omega/cmd demo --algorithm omega
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
