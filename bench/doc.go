// Package bench measures what an election takes and what a cluster costs, with
// real processes: the elect command, each node with a data folder of its own on a
// disk, over TCP on the loopback.
//
//	go test -bench Failover ./bench     a leader is killed, paused or stopped; about 5 minutes
//	go test -bench ColdStart ./bench    until five new processes agree
//	go test -bench Idle ./bench         processor, frames and memory at rest
//	go test -bench Steady ./bench       the same against the number of nodes, up to 200
//	go test -bench Load ./bench         no needless election beside spinning threads; 2 minutes
//
// Each prints its setting first: a figure without one says nothing. Flags of its own
// stand behind the package: -rounds, -slow-rounds, -observed, -seed, -data and -procs
// (see go test ./bench -args -help). The usual -benchtime asks for more rounds, never
// for fewer.
//
// No benchmark fails because it is slow. It fails when what it measures is wrong: a
// leader who should not be, an epoch that does not grow, an election that nothing
// called for, a process or folder left behind.
package bench
