// Package proccluster runs a cluster of real processes on one machine, makes the leader fail and measures the failover.
// The demonstration, the benchmarks and the tests use it.
//
//	c, err := proccluster.New(ctx, proccluster.Config{Command: []string{"elect"}, Nodes: 3})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	if _, err := c.WaitLeader(ctx); err != nil {
//		return err
//	}
//	f, err := c.Failover(ctx, proccluster.Kill)
//	fmt.Println(f.Failover, f.Detect, f.Elect)
//
// Each node is a process with its own data directory, on a free port of the loopback. It writes its trace (elect node
// --trace), each event with its time. All processes of a machine share the clock of these times. So a delay of the pipe
// or of the reader does not change a measurement.
//
// Guarantees: no process and no folder outlives a [Cluster], also if a node fails to start. If the program with the
// cluster is killed, its nodes end too: on Linux the kernel kills them, on other systems they stop at the end of their
// standard input.
package proccluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/trace"
)

// Config describes a cluster.
type Config struct {
	// Command is the elect command, to which the cluster adds "node" and its flags.
	Command []string
	// Env is added to the environment of this process.
	Env []string
	// Nodes is the number of nodes.
	Nodes int
	// Args are additional flags of every node, as
	// "--preset", "wan".
	Args []string
	// ArgsOf returns additional flags of one node; nil for none.
	ArgsOf func(name string) []string
	// Run is a command that the leader runs: the processes are "elect run" with it, and not "elect node". They take no
	// requests from the cluster (see [Cluster.Campaign]). Only the kernel of Linux ends them if the program that holds
	// the cluster is killed. The command must not write to its standard output, which is the trace.
	Run []string
	// Hosts has a host for each node, n1 first. Empty: all nodes run on the loopback of
	// this machine.
	Hosts []Host
	// Joins makes the first node bootstrap the cluster (--bootstrap) and the others join it (--join), which needs an
	// algorithm with a quorum. Otherwise all nodes get one list of all addresses (--members).
	Joins bool
	// Dir is the parent of the temporary folder of the cluster; default os.TempDir().
	Dir string
	// StartTimeout bounds the time until a process is ready; default 10 s.
	StartTimeout time.Duration
	// OnEvent is called for every event, one at a time. It must not call the cluster.
	OnEvent func(node string, e trace.Event)
}

// Host is a host of a node.
type Host struct {
	// Command is put before Config.Command and runs it on the host. Its process must become
	// the process of the node, so that signals reach the node.
	Command []string
	// Addr is the address of the node, as host:port. The others must be able to dial it. Port 0 stands for a free
	// port; without Joins, only a Host without Command may have it.
	Addr string
}

const (
	startTimeout = 10 * time.Second
	endTimeout   = 5 * time.Second // time for the goodbyes of a node, on a loaded machine
)

// Cluster is a number of running nodes. Its methods may be called from any goroutine.
type Cluster struct {
	config Config
	dir    string
	nodes  []*node

	starts   chan func() // to the thread that starts processes
	starting sync.WaitGroup
	close    sync.Once

	mu        sync.Mutex
	closing   bool
	failed    error         // first failure of a node that was not requested
	changed   chan struct{} // closed when anything below, or in a node, changes
	log       []nodeEvent   // since the last LeaderLoss or Recover
	lastEvent time.Time     // arrival of the last event of an election
}

// Name returns the name of the node with that number: n1 for the first.
func Name(number int) string { return "n" + strconv.Itoa(number) }

// Number is the inverse of Name; 0 if name is not the name of a node.
func Number(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "n"))
	return n
}

// nodeEvent is an event with the name of its node.
type nodeEvent struct {
	node string
	trace.Event
}

// New starts the nodes n1, n2, … in the order in which they are elected: the last
// has the highest priority. It returns when all are ready, which is before they have
// agreed on a leader. If a node fails to start, or ctx ends, nothing is left behind.
func New(ctx context.Context, config Config) (*Cluster, error) {
	if len(config.Command) == 0 || config.Nodes < 1 {
		return nil, fmt.Errorf("proccluster: %d nodes of the command %q, want at least one of some command", config.Nodes, config.Command)
	}
	if n := len(config.Hosts); n > 0 && n != config.Nodes {
		return nil, fmt.Errorf("proccluster: %d nodes on %d hosts, want one for each", config.Nodes, n)
	}
	if config.StartTimeout == 0 {
		config.StartTimeout = startTimeout
	}
	dir, err := os.MkdirTemp(config.Dir, "elect-cluster-")
	if err != nil {
		return nil, fmt.Errorf("proccluster: %w", err)
	}
	c := &Cluster{config: config, dir: dir, changed: make(chan struct{}), starts: make(chan func())}
	c.starting.Go(c.startProcesses)
	for i := range config.Nodes {
		name := Name(i + 1)
		host := Host{Addr: "127.0.0.1:0"}
		if len(config.Hosts) > 0 {
			host = config.Hosts[i]
		}
		c.nodes = append(c.nodes, &node{
			cluster: c, name: name, priority: i + 1, dir: filepath.Join(dir, name), host: host, addr: host.Addr, procState: Down,
		})
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) startAll(ctx context.Context) error {
	first, others := c.nodes[0], c.nodes[1:]
	if !c.config.Joins {
		if err := c.reserve(); err != nil {
			return err
		}
		others = c.nodes
	} else if err := first.start(ctx); err != nil {
		return err
	}
	errs := make([]error, len(others))
	var all sync.WaitGroup
	for i, n := range others {
		all.Go(func() { errs[i] = n.start(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// reserve picks a free port for each node of this machine. If another process takes the port before
// the node listens, the node fails to start with that error.
func (c *Cluster) reserve() error {
	for _, n := range c.nodes {
		if len(n.host.Command) > 0 {
			continue // its address is not on this machine
		}
		l, err := net.Listen("tcp", n.addr)
		if err != nil {
			return fmt.Errorf("proccluster: %w", err)
		}
		defer l.Close() // not before all are chosen: they must differ
		n.addr = l.Addr().String()
	}
	return nil
}

// startProcesses starts the processes, all from one thread: the kernel kills a child
// with Pdeathsig when the thread that started it ends, not when the process does.
func (c *Cluster) startProcesses() {
	runtime.LockOSThread()
	for start := range c.starts {
		start()
	}
}

// Dir returns the temporary folder of the cluster. It contains the data directory "n1" of n1.
func (c *Cluster) Dir() string { return c.dir }

// Close stops every node, first with Term, and removes the folder. When it returns, no
// process of the cluster is left.
func (c *Cluster) Close() error {
	var err error
	c.close.Do(func() {
		c.mu.Lock()
		c.closing = true
		nodes := slices.Clone(c.nodes)
		c.mu.Unlock()
		var all sync.WaitGroup
		for _, n := range nodes {
			all.Go(n.end)
		}
		all.Wait()
		close(c.starts)
		c.starting.Wait()
		err = os.RemoveAll(c.dir)
	})
	return err
}

// Restart starts a node that is down again, on the same address and with the same data
// directory. It returns when the process is ready.
func (c *Cluster) Restart(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	return n.start(ctx)
}

// Signal sends s to a node. at is the time right before the system call, in the clock
// of events (see [Now]). After Kill and Term it waits until the process has ended.
func (c *Cluster) Signal(name string, s Signal) (at int64, err error) {
	n, err := c.node(name)
	if err != nil {
		return 0, err
	}
	at, err = n.signal(s)
	if err == nil && (s == Kill || s == Term) {
		err = n.waitEnd()
	}
	return at, err
}

// Campaign is the line that a cluster writes to a node to request an election.
const Campaign = "campaign"

// Campaign requests an election from a node, as an application would. It returns when the
// request is written.
func (c *Cluster) Campaign(name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	p, procState := n.process, n.procState
	c.mu.Unlock()
	if procState != Up {
		return fmt.Errorf("proccluster: campaign at %s: it is %s", name, procState)
	}
	if _, err := io.WriteString(p.stdin, Campaign+"\n"); err != nil {
		return fmt.Errorf("proccluster: campaign at %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) node(name string) (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.name == name })
	if i < 0 {
		return nil, fmt.Errorf("proccluster: there is no node %q", name)
	}
	return c.nodes[i], nil
}

// change runs update and wakes all goroutines that wait for a change.
func (c *Cluster) change(update func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	update()
	close(c.changed)
	c.changed = make(chan struct{})
}

// fail records the first failure of the cluster.
func (c *Cluster) fail(err error) {
	c.change(func() {
		if c.failed == nil && !c.closing {
			c.failed = err
		}
	})
}
