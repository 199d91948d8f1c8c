package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/netlab"
)

// Processes are a cluster to which something happens.
type Processes struct {
	*fleet.Fleet
	Lab   *netlab.Lab // where packets can be lost; else nil
	Began int64       // before the first process was started, in the clock of events
}

// Start starts so many nodes out of config, whose nodes and hosts it decides. Where packets are to
// be lost, or late by delay, and cannot be its error wraps [netlab.ErrUnavailable].
func Start(ctx context.Context, config fleet.Config, nodes int, network bool, delay time.Duration) (_ Processes, err error) {
	config.Nodes, config.Hosts = nodes, fleet.Loopback(nodes)
	var s Processes
	if network {
		if s.Lab, err = netlab.New(nodes); err != nil {
			return s, err
		}
		for i := range config.Hosts {
			config.Hosts[i] = fleet.Host{Command: s.Lab.Command(i), Addr: net.JoinHostPort(s.Lab.Addr(i), "7400")}
		}
	}
	if delay > 0 {
		err = s.Lab.Delay(delay)
	}
	if s.Began = fleet.Now(); err == nil {
		s.Fleet, err = fleet.New(ctx, config)
	}
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	return s, err
}

// Cut loses all packets from one node to others.
func (s Processes) Cut(from int, to ...int) error {
	var hosts []int
	for _, node := range to {
		hosts = append(hosts, node-1)
	}
	return s.Lab.Drop(from-1, hosts...)
}

// Close stops the cluster, and says if anything of it is left.
func (s Processes) Close() (err error) {
	if s.Fleet != nil {
		err = End(s.Fleet)
	}
	if s.Lab != nil {
		err = errors.Join(err, s.Lab.Close())
	}
	return err
}

// End stops a fleet, and says if anything of it is left.
func End(f *fleet.Fleet) error {
	nodes := f.States()
	err := f.Close()
	if _, left := os.Stat(f.Dir()); !errors.Is(left, fs.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("bench: the folder %s is left behind", f.Dir()))
	}
	for _, n := range nodes {
		if host, _, _ := net.SplitHostPort(n.Addr); !net.ParseIP(host).IsLoopback() {
			continue // of a network of its own, which went with it
		}
		if c, refused := net.Dial("tcp", n.Addr); refused == nil {
			_ = c.Close()
			err = errors.Join(err, fmt.Errorf("bench: something listens where %s did, at %s", n.Name, n.Addr))
		}
	}
	return err
}
