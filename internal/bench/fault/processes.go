package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/elect-go/elect/internal/netlab"
	"github.com/elect-go/elect/internal/proccluster"
)

// Processes is a cluster of processes into which faults are injected.
type Processes struct {
	*proccluster.Cluster
	Lab   *netlab.Lab // network that can drop packets; otherwise nil
	Began int64       // time before the first process started, by the clock of the events
}

// Start starts nodes as config says, except for the number and hosts of the nodes, which it sets.
// If network is set, it can drop packets and delays each by delay. Its error wraps
// [netlab.ErrUnavailable] if this machine cannot do that.
func Start(ctx context.Context, config proccluster.Config, nodes int, network bool, delay time.Duration) (_ Processes, err error) {
	config.Nodes, config.Hosts = nodes, proccluster.Loopback(nodes)
	var s Processes
	if network {
		if s.Lab, err = netlab.New(nodes); err != nil {
			return s, err
		}
		for i := range config.Hosts {
			config.Hosts[i] = proccluster.Host{Command: s.Lab.Command(i), Addr: net.JoinHostPort(s.Lab.Addr(i), "7400")}
		}
	}
	if delay > 0 {
		err = s.Lab.Delay(delay)
	}
	if s.Began = proccluster.Now(); err == nil {
		s.Cluster, err = proccluster.New(ctx, config)
	}
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	return s, err
}

// Cut drops all packets from one node to others.
func (s Processes) Cut(from int, to ...int) error {
	var hosts []int
	for _, node := range to {
		hosts = append(hosts, node-1)
	}
	return s.Lab.Drop(from-1, hosts...)
}

// Close stops the cluster and returns an error if anything of it is left.
func (s Processes) Close() (err error) {
	if s.Cluster != nil {
		err = End(s.Cluster)
	}
	if s.Lab != nil {
		err = errors.Join(err, s.Lab.Close())
	}
	return err
}

// End stops a cluster and returns an error if a process or folder of it is left.
func End(f *proccluster.Cluster) error {
	nodes := f.States()
	err := f.Close()
	if _, left := os.Stat(f.Dir()); !errors.Is(left, fs.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("bench: the folder %s is left behind", f.Dir()))
	}
	for _, n := range nodes {
		if host, _, _ := net.SplitHostPort(n.Addr); !net.ParseIP(host).IsLoopback() {
			continue // an address of a lab network, which is gone
		}
		if c, refused := net.Dial("tcp", n.Addr); refused == nil {
			_ = c.Close()
			err = errors.Join(err, fmt.Errorf("bench: something listens where %s did, at %s", n.Name, n.Addr))
		}
	}
	return err
}
