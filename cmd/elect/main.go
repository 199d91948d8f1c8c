// Command elect runs a member of a cluster that elects a leader, asks one for its
// status, and shows an election with real processes. It is [command.Main] with the
// algorithms of this module.
package main

import (
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cli"
)

func main() { cli.Main(builtin.Registry()) }
