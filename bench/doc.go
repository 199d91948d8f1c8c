// Package bench sets the algorithms side by side: what an election costs, how long it
// takes, what a fault costs an application, and what a cluster costs at rest.
//
// [Run] measures groups of this with a registry, so that a stranger's algorithm stands beside
// ours; the command elect bench is that. What it measures short and in turns, the benchmarks of
// this package measure at length.
//
// With real processes, the elect command, each node with a data folder of its own on a
// disk, over TCP on the loopback:
//
//	go test -bench Failover ./bench     a leader is killed, paused, stopped or cut off; most of an
//	                                    hour, and part of it as in Failover/algorithm=bully/signal=kill
//	go test -bench Cost ./bench         what faults cost an application, also in the simulator
//	go test -bench Stability ./bench    whether a leader that works is left to work, in namespaces; the same
//	go test -bench Detector ./bench     how fast the failure detector is, and how often wrong; the same
//	go test -bench ColdStart ./bench    until five new processes agree
//	go test -bench Idle ./bench         processor, frames and memory at rest
//	go test -bench Steady ./bench       the same against the number of nodes, up to 200
//	go test -bench Load ./bench         no needless election beside spinning threads; 2 minutes
//	go test -bench Flood ./bench        attacks on the leader by a host without credentials; 2 minutes
//
// Message by message, compared with each other and with the theory (package theory):
//
//	go test -bench Election -benchtime 1x ./bench    in the simulator, N from 3 to 16,384; some minutes
//	go test -bench Wire -benchtime 1x ./bench        live nodes, in one process and in processes; some minutes
//	go test -bench Parts ./bench                     codec, frames, engine, store, simulator, explorer
//
// A short version of what takes no processes takes seconds:
//
//	go test ./bench -bench 'Election|Wire/host=one|Parts|(Cost|Stability)/././host=simulator|Detector/condition' \
//	    -benchtime 1x -max-n 32 -wire-rounds 2 -rounds 2
//
// Other projects are measured beside ours in bench/peers, a module of its own.
//
// What is printed is Go's benchmark format, which benchstat reads, elect bench compare, and bench/page,
// a module of its own too, which draws plots. Names and metrics are those of elect bench.
//
// Each prints its setting first: a figure without one says nothing. Flags of its own
// stand behind the package: -rounds, -slow-rounds, -wire-rounds, -observed, -max-n, -seed,
// -data and -procs (see go test ./bench -args -help). The usual -benchtime asks for more
// rounds, never for fewer.
//
// No benchmark fails because it is slow. It fails when what it measures is wrong: a
// leader who should not be, an epoch that does not grow, an election that nothing
// called for, a count that is not that of the theory, a process or folder left behind.
package bench
