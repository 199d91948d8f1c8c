package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"

	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/netlab"
)

// struck is a cluster of processes to which something happens.
type struck struct {
	*fleet.Fleet
	lab *netlab.Lab // where packets can be lost; else nil
}

// startStruck starts so many nodes out of config, whose nodes, hosts and flags it decides. Where
// packets are to be lost and cannot be its error wraps [netlab.ErrUnavailable].
func startStruck(ctx context.Context, config fleet.Config, nodes int, network bool, args ...string) (_ struck, err error) {
	config.Nodes, config.Hosts = nodes, fleet.Loopback(nodes)
	config.Args = slices.Concat(args, config.Args)
	var s struck
	if network {
		if s.lab, err = netlab.New(nodes); err != nil {
			return s, err
		}
		for i := range config.Hosts {
			config.Hosts[i] = fleet.Host{Command: s.lab.Command(i), Addr: net.JoinHostPort(s.lab.Addr(i), "0")}
		}
	}
	if s.Fleet, err = fleet.New(ctx, config); err != nil {
		err = errors.Join(err, s.close())
	}
	return s, err
}

// cut loses all packets from one node to others.
func (s struck) cut(from int, to ...int) error {
	var hosts []int
	for _, node := range to {
		hosts = append(hosts, node-1)
	}
	return s.lab.Drop(from-1, hosts...)
}

// close stops the cluster, and says if anything of it is left.
func (s struck) close() (err error) {
	if s.Fleet != nil {
		err = closeFleet(s.Fleet)
	}
	if s.lab != nil {
		err = errors.Join(err, s.lab.Close())
	}
	return err
}

func closeFleet(f *fleet.Fleet) error {
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
