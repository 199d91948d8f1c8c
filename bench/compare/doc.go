// Command compare measures how long clusters of other projects and of elect are without a leader:
// on the same machine, with the same number of processes, the same signals and the same clock.
//
//	go run . -rounds 20                                 all of it; about two hours
//	go run . -rounds 5 -nodes 5 -settings defaults      an idea of it; a few minutes
//	go run . -stability all -settings equal -rounds 1   stable leadership; most of an hour
//	go run . -application all -nodes 3 -rounds 20       until the work of the next process runs; three minutes
//	go run . -help                                      the flags
//
// Tables are printed, and with -out every round is written in Go's benchmark format.
//
// It is a separate module, so that elect depends on none of the measured projects.
//
// A round starts a new cluster of one system, waits until it is idle, and waits for a random
// part of a heartbeat interval. It then sends the signal to the leader and ends the cluster.
// One cluster runs at a time. The systems take turns, A B C A B C, so that other load on the
// machine affects all of them alike. Every process adds a timestamp of a shared clock to each
// of its events (see internal/proccluster).
//
// Both times begin right before the system call that sends the signal:
//
//   - followed: until the last survivor follows the new leader.
//   - given up: until the last survivor suspects the failed leader or follows another.
//     This is all that memberlist does. It has no leader, so its highest member is signaled;
//     the highest member is the leader of elect, too.
//
// With -stability five processes in network namespaces undergo the faults of the benchmark group
// Stability instead of a signal. Scripts, cuts and event log are the same as for elect's
// algorithms, and rounds of one number affect the same nodes. It needs Linux and root.
//
// With -application the view of an application is measured: processes work while they lead, the one
// that works gets SIGKILL, and the time until the work of another one has begun counts. The systems
// are elect with and without its lease and evidence, elect run, where the watchdog gives the lease
// back, and the election of etcd's client. Each system keeps another promise, which the table shows.
//
// The settings:
//
//   - defaults: each system as its documentation recommends.
//   - equal: a heartbeat of 120 ms, and no member is given up after less than 380 ms of
//     silence; these are elect's defaults. memberlist counts whole probes and uses 360 ms.
//   - aggressive: for each system the shortest times with which five processes kept
//     their leader on an idle machine of two cores; check it with -steady 60s.
//   - any other HEARTBEAT/TIMEOUT, as 50ms/150ms.
package main
