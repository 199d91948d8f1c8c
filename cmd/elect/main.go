// Command elect runs a member of a cluster that elects a leader, requests the status of members, and simulates,
// searches and measures elections. It is [cli.Main] with the algorithms of this module.
package main

import (
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cli"
)

func main() { cli.Main(builtin.Registry()) }
