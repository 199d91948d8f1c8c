// Package netlab makes a small network on this machine, of hosts whose packets can be
// lost, or late: for the tests and benchmarks of partitions. It works on Linux, as root, with
// ip (of iproute2) and nsenter (of util-linux).
//
// Each host is a network namespace, joined by a veth pair to a bridge. The bridges are in
// a namespace of their own, so that nothing is added to the machine's own network. The
// namespaces have no names. The kernel removes them, and all that is in them, when the
// [Lab] is closed and the processes in them have ended, also when the program that made
// them dies without a word.
//
// What is cut is silent: packets are lost, and nobody is told. A host even knows the
// hardware addresses of the others from the start, for it would learn of a cut from an
// ARP request without an answer, as it could not if a router lay between them.
package netlab
