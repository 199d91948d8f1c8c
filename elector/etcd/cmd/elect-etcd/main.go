// Command elect-etcd runs a command while this machine leads in an etcd, or follows the leaders there. It is the
// command elect with another election:
//
//	elect-etcd run --elector etcd://10.0.0.1:2379,10.0.0.2:2379/service/leader -- ./worker
//	elect-etcd watch --elector etcd://10.0.0.1:2379/service/leader --json
package main

import "github.com/elect-go/elect/cli"

func main() { cli.MainEngine(engine()) }
