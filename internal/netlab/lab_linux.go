package netlab

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Lab is a network. Split, Drop, Heal, Delay and Close must not be called concurrently.
type Lab struct {
	middle *namespace // with a bridge for each host, so that each can be alone
	hosts  []*namespace
	taps   []*os.File // see Delay
}

// New makes a network of hosts that all reach each other. They are numbered from 0.
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
	if l.middle, err = newNamespace(); err != nil {
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
		links.add("link add %s type veth peer name eth0 address %s netns %s", port(i), hardware(i), host.path())
		links.add("link set %s master %s up", port(i), bridge(0))
	}
	if err := l.middle.ip(links); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err) // the kernel lacks bridges, or veth
	}
	for i, host := range l.hosts {
		var s script
		s.add("link set lo up")
		s.add("addr add %s/24 dev eth0", l.Addr(i))
		s.add("link set eth0 up")
		for other := range l.hosts {
			if other != i {
				s.add("neigh replace %s lladdr %s nud permanent dev eth0", l.Addr(other), hardware(other))
			}
		}
		if err := host.ip(s); err != nil {
			return err
		}
	}
	return nil
}

// Addr is the IP address of a host. It means something only in the network.
func (l *Lab) Addr(host int) string { return fmt.Sprintf("192.0.2.%d", host+1) }

// Command is what to put before a command to run it on a host. The process is that of
// the command.
func (l *Lab) Command(host int) []string { return l.hosts[host].command() }

// Do calls f on a thread of a host and returns its error. A socket that f opens itself,
// in no other goroutine, stays on the host.
func (l *Lab) Do(host int, f func() error) error { return l.hosts[host].do(f) }

// Split has only the hosts of one group reach each other. Who is in no group is alone.
func (l *Lab) Split(groups ...[]int) error {
	at := make(map[int]int) // the group of a host
	for g, hosts := range groups {
		for _, host := range hosts {
			if _, twice := at[host]; twice || host < 0 || host >= len(l.hosts) {
				return fmt.Errorf("netlab: split %v: want each of the hosts 0 to %d once at most", groups, len(l.hosts)-1)
			}
			at[host] = g
		}
	}
	var s script
	for i := range l.hosts {
		if g, together := at[i]; together {
			s.add("link set %s master %s", port(i), bridge(g))
		} else {
			s.add("link set %s nomaster", port(i))
		}
	}
	return l.middle.ip(s)
}

// Drop loses all packets from one host to others, and not those that come back.
func (l *Lab) Drop(from int, to ...int) error {
	return l.hosts[from].ip(l.neighbours(to, func(int) string { return hardware(len(l.hosts)) })) // nobody's
}

// Heal undoes every Split and Drop.
func (l *Lab) Heal() error {
	all := make([]int, len(l.hosts))
	for i := range all {
		all[i] = i
	}
	for i, host := range l.hosts {
		others := append(append([]int(nil), all[:i]...), all[i+1:]...)
		if err := host.ip(l.neighbours(others, hardware)); err != nil {
			return err
		}
	}
	return l.Split(all)
}

// neighbours sets to which hardware the packets to hosts go.
func (l *Lab) neighbours(hosts []int, hardware func(host int) string) script {
	var s script
	for _, host := range hosts {
		s.add("neigh replace %s lladdr %s nud permanent dev eth0", l.Addr(host), hardware(host))
	}
	return s
}

// Close gives the network up. It goes when the last process on a host has ended.
func (l *Lab) Close() error {
	var errs []error
	for _, tap := range l.taps {
		errs = append(errs, tap.Close())
	}
	for _, n := range append(l.hosts, l.middle) {
		if n != nil {
			errs = append(errs, n.file.Close())
		}
	}
	l.hosts, l.middle, l.taps = nil, nil, nil
	return errors.Join(errs...)
}

func bridge(i int) string { return fmt.Sprintf("bridge%d", i) }
func port(i int) string   { return fmt.Sprintf("port%d", i) }

// hardware is an address that is locally administered.
func hardware(i int) string { return fmt.Sprintf("02:00:00:00:00:%02x", i+1) }

// script is commands for ip -batch.
type script struct{ strings.Builder }

func (s *script) add(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }
