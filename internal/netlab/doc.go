// Package netlab creates a small network of hosts on this machine, which can lose or delay packets. It is for tests
// and benchmarks of partitions:
//
//	lab, err := netlab.New(3)
//	cmd := exec.Command(lab.Command(0)[0], append(lab.Command(0)[1:], "elect", "run")...)
//	err = lab.Split([]int{0}, []int{1, 2})
//	err = lab.Close()
//
// It works on Linux, as root, with ip (of iproute2) and nsenter (of util-linux).
//
// Each host is a network namespace, connected to a bridge by a veth pair. The bridges are in a namespace of their
// own, so the machine's own network does not change. The namespaces have no names. The kernel removes them, with
// everything in them, when the [Lab] is closed and the processes in them have ended. It also does so when the program
// that created them is killed.
//
// A cut is silent: packets are lost, and no host is notified. Each host knows the hardware addresses of all others
// from the start. Otherwise an ARP request without a reply would reveal a cut, which it would not do behind a router.
package netlab
