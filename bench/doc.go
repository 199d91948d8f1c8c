// Package bench measures algorithms: the messages and the duration of an election, the effect of a fault on an
// application, and the cost of an idle cluster.
//
//	report, err := bench.Run(ctx, builtin.Registry(), bench.Options{Groups: []string{"election"}, Seed: 1})
//	if err == nil {
//		err = report.WriteText(os.Stdout)
//	}
//
// [Run] measures the algorithms of a registry, which may contain your own. The command elect bench calls it. The
// benchmarks of this package measure the same for longer.
//
// With processes of the elect command, each with its own data directory on a disk, over TCP on the loopback:
//
//	go test -bench Failover ./bench     the leader is killed (next to the floor of a kill), paused, stopped or cut off;
//	                                    most of an hour, and part of it as in Failover/algorithm=bully/signal=kill
//	go test -bench Access ./bench       the leader is killed, with and without TLS in turn
//	go test -bench Cost ./bench         what faults cost an application, also in the simulator
//	go test -bench Stability ./bench    whether a working leader keeps its leadership, in namespaces; the same
//	go test -bench Detector ./bench     speed and mistakes of the failure detector; the same
//	go test -bench ColdStart ./bench    until five new processes agree
//	go test -bench Idle ./bench         processor, frames and memory at rest, and memory of a watchdog
//	go test -bench Steady ./bench       the same against the number of nodes, up to 200
//	go test -bench Load ./bench         no needless election under load; 2 minutes
//	go test -bench Flood ./bench        attacks on the leader by a host without credentials; 2 minutes
//
// Message by message, compared with each other and with the theory (package theory):
//
//	go test -bench Election -benchtime 1x ./bench    in the simulator, N from 3 to 16,384; some minutes
//	go test -bench Wire -benchtime 1x ./bench        live nodes, in one process and in processes; some minutes
//	go test -bench Parts ./bench                     codec, frames, engine, store, simulator, explorer
//
// A short version without processes takes seconds:
//
//	go test ./bench -bench 'Election|Wire/host=one|Parts|(Cost|Stability)/././host=simulator|Detector/condition' \
//	    -benchtime 1x -max-n 32 -wire-rounds 2 -rounds 2
//
// bench/compare, a separate module, measures other projects.
//
// The output is in Go's benchmark format, with the names and metrics of elect bench. benchstat and elect bench compare
// read it. bench/page, a separate module, draws plots.
//
// Each benchmark first prints its setting, on which its figures depend. Flags of this package follow the package name:
// -rounds, -slow-rounds, -wire-rounds, -observed, -max-n, -seed, -data and -procs (see go test ./bench -args -help).
// -benchtime can only increase the number of rounds.
//
// A benchmark fails if its result is wrong: an unexpected leader, an epoch that does not grow, a needless election, a
// count that differs from the theory, or a process or folder that is left. It does not fail because it is slow.
package bench
