// Command elect-kubernetes runs a command while this pod or machine leads by a Lease of Kubernetes, or follows the
// leaders there. It is the command elect with another election:
//
//	elect-kubernetes run --elector kubernetes://shop/leader -- ./worker
//	elect-kubernetes watch --elector kubernetes://shop/leader --json
package main

import "github.com/elect-go/elect/cli"

func main() { cli.MainEngine(engine()) }
