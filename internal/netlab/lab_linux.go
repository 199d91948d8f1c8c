package netlab

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Lab is a network. Split, Drop, Heal, Delay and Close must not be called concurrently.
type Lab struct {
	bridges *namespace // with one bridge for each host, so that each host can be isolated
	hosts   []*namespace
	taps    []*os.File // see Delay
}

// New creates a network of hosts, numbered from 0, that all reach each other.
func New(hosts int) (*Lab, error) {
	if hosts < 1 || hosts > MaxHosts {
		return nil, fmt.Errorf("netlab: %d hosts, want 1 to %d", hosts, MaxHosts)
	}
	l := new(Lab)
	if err := l.build(hosts); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Lab) build(hosts int) error {
	var err error
	if l.bridges, err = newNamespace(); err != nil {
		return err
	}
	var links script
	for i := range hosts {
		host, err := newNamespace()
		if err != nil {
			return err
		}
		l.hosts = append(l.hosts, host)
		links.add("link add %s type bridge", bridge(i))
		links.add("link set %s up", bridge(i))
		links.add("link add %s type veth peer name eth0 address %s netns %s", port(i), hardwareAddr(i), host.path())
		links.add("link set %s master %s up", port(i), bridge(0))
	}
	if err := l.bridges.ip(links); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err) // the kernel lacks bridges, or veth
	}
	for i, host := range l.hosts {
		var s script
		s.add("link set lo up")
		s.add("addr add %s/24 dev eth0", l.Addr(i))
		s.add("link set eth0 up")
		for other := range l.hosts {
			if other != i {
				s.add("neigh replace %s lladdr %s nud permanent dev eth0", l.Addr(other), hardwareAddr(other))
			}
		}
		if err := host.ip(s); err != nil {
			return err
		}
	}
	return nil
}

// Addr returns the IP address of a host. It is valid only inside the network.
func (l *Lab) Addr(host int) string { return fmt.Sprintf("192.0.2.%d", host+1) }

// Command returns the prefix that makes a command run on a host. It replaces itself by the command, so both have one
// process ID.
func (l *Lab) Command(host int) []string { return l.hosts[host].command() }

// Do calls f on a thread of a host and returns its error. A socket that f opens itself, in no other goroutine, stays
// on the host.
func (l *Lab) Do(host int, f func() error) error { return l.hosts[host].do(f) }

// Split lets only the hosts of one group reach each other. A host in no group is isolated.
func (l *Lab) Split(groups ...[]int) error {
	groupOf := make(map[int]int)
	for g, hosts := range groups {
		for _, host := range hosts {
			if _, isDuplicate := groupOf[host]; isDuplicate || host < 0 || host >= len(l.hosts) {
				return fmt.Errorf("netlab: split %v: want each of the hosts 0 to %d once at most", groups, len(l.hosts)-1)
			}
			groupOf[host] = g
		}
	}
	var s script
	for i := range l.hosts {
		if g, isMember := groupOf[i]; isMember {
			s.add("link set %s master %s", port(i), bridge(g))
		} else {
			s.add("link set %s nomaster", port(i))
		}
	}
	return l.bridges.ip(s)
}

// Drop loses all packets from one host to others, but not those in the other direction.
func (l *Lab) Drop(from int, to ...int) error {
	return l.hosts[from].ip(l.setNeighbours(to, func(int) string { return hardwareAddr(len(l.hosts)) })) // an address of no host
}

// Heal undoes every Split and Drop.
func (l *Lab) Heal() error {
	all := make([]int, len(l.hosts))
	for i := range all {
		all[i] = i
	}
	for i, host := range l.hosts {
		others := append(append([]int(nil), all[:i]...), all[i+1:]...)
		if err := host.ip(l.setNeighbours(others, hardwareAddr)); err != nil {
			return err
		}
	}
	return l.Split(all)
}

// setNeighbours sets the hardware addresses for packets to hosts.
func (l *Lab) setNeighbours(hosts []int, hardware func(host int) string) script {
	var s script
	for _, host := range hosts {
		s.add("neigh replace %s lladdr %s nud permanent dev eth0", l.Addr(host), hardware(host))
	}
	return s
}

// Close releases the network. It disappears when the last process on a host has ended.
func (l *Lab) Close() error {
	var errs []error
	for _, tap := range l.taps {
		errs = append(errs, tap.Close())
	}
	for _, n := range append(l.hosts, l.bridges) {
		if n != nil {
			errs = append(errs, n.file.Close())
		}
	}
	l.hosts, l.bridges, l.taps = nil, nil, nil
	return errors.Join(errs...)
}

func bridge(i int) string { return fmt.Sprintf("bridge%d", i) }
func port(i int) string   { return fmt.Sprintf("port%d", i) }

// hardwareAddr returns a locally administered address.
func hardwareAddr(i int) string { return fmt.Sprintf("02:00:00:00:00:%02x", i+1) }

// script is a list of commands for ip -batch.
type script struct{ strings.Builder }

func (s *script) add(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }
