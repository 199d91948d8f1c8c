package proccluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/trace"
)

// ProcState says whether the process of a node runs.
type ProcState string

// The states of the process of a node.
const (
	Up       ProcState = "up"
	Paused   ProcState = "paused"   // by Stop
	Isolated ProcState = "isolated" // by IsolateLeader or Disconnect: it runs, disconnected from the others
	Down     ProcState = "down"
	// Removed is Down for good: the node is no longer a member.
	Removed ProcState = "removed"
)

// State is the state of one node as far as its events have arrived.
type State struct {
	Name      string
	ProcState ProcState
	ID        string
	Addr      string
	Pid       int // of the current or the last process

	// State of the current or the last process:
	ReadyAt     int64          // time of its ready event, in the clock of events; 0 before
	Leader      string         // name of the leader that it announced; empty for no leader
	LeaderID    string         // ID of that leader
	Epoch       uint64         // epoch of that leadership, or of the vacancy
	IsLeader    bool           // it announced itself
	AnnouncedAt int64          // time of the announcement, in the clock of events
	Sent        map[string]int // messages of elections, by kind
	Suspects    []string       // IDs of the suspected members
	ConfigAt    int64          // time of the last config change, in the clock of events
}

// Total returns the number of election messages that the process has sent.
func (s State) Total() int {
	total := 0
	for _, n := range s.Sent {
		total += n
	}
	return total
}

// node is a node of the cluster: a name, an address, a folder, and its current process.
type node struct {
	cluster  *Cluster
	name     string
	priority int
	dir      string
	host     Host
	joins    bool // it joins an existing cluster, whatever Config.Joins is

	// The fields below are guarded by cluster.mu.
	addr      string
	procState ProcState
	process   *process
	state     State
}

// process is one run of the program.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser // its end tells the process that its parent is gone
	stderr *tail
	ready  chan struct{} // closed at the ready event
	done   chan struct{} // closed when it has ended and its output is read
	err    error         // cause of its end; set before done
	wanted bool          // its end was requested; guarded by cluster.mu
	killed bool          // by SIGKILL; guarded by cluster.mu
}

// start runs the program and waits until it is ready.
func (n *node) start(ctx context.Context) error {
	if err := n.waitEnd(); err != nil { // of the previous process
		return err
	}
	p, err := n.launch()
	if err != nil {
		return err
	}
	timer := time.NewTimer(n.cluster.config.StartTimeout)
	defer timer.Stop()
	select {
	case <-p.ready:
		return nil
	case <-p.done:
		return n.startError(p, p.err)
	case <-timer.C:
		err = fmt.Errorf("not ready after %v", n.cluster.config.StartTimeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	n.kill(p)
	<-p.done
	return n.startError(p, err)
}

func (n *node) startError(p *process, err error) error {
	return fmt.Errorf("proccluster: start %s: %w", n.name, p.explain(err))
}

// explain adds the last lines of the standard error of the process to err.
func (p *process) explain(err error) error {
	if err == nil {
		err = errors.New("it ended with status 0")
	}
	if said := p.stderr.lines(5); said != "" {
		err = fmt.Errorf("%w; it said:\n%s", err, said)
	}
	return err
}

// launch runs the program.
func (n *node) launch() (*process, error) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.procState != Down {
		return nil, fmt.Errorf("proccluster: start %s: it is %s", n.name, n.procState)
	}
	if c.closing {
		return nil, fmt.Errorf("proccluster: start %s: the cluster is closed", n.name)
	}
	command := slices.Concat(n.host.Command, c.config.Command, n.args())
	p := &process{
		cmd: exec.Command(command[0], command[1:]...), stderr: new(tail),
		ready: make(chan struct{}), done: make(chan struct{}),
	}
	env := environment()
	if host, _, _ := net.SplitHostPort(n.host.Addr); !net.ParseIP(host).IsLoopback() {
		env = append(env, "ELECT_INSECURE=true") // an isolated network; Env overrides this
	}
	p.cmd.Env = append(env, c.config.Env...)
	p.cmd.SysProcAttr = attributes()
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = endTimeout
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("proccluster: start %s: %w", n.name, err)
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("proccluster: start %s: %w", n.name, err)
	}
	started := make(chan error)
	c.starts <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("proccluster: start %s: %w", n.name, err)
	}
	n.process, n.procState = p, Up
	n.state = State{Pid: p.cmd.Process.Pid, ID: n.state.ID}
	go n.follow(p, stdout)
	return p, nil
}

// environment is the environment of this process without the variables that elect reads:
// a node of a cluster is configured by its flags only.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ELECT_") })
}

// args returns the flags of the node. It runs under cluster.mu.
func (n *node) args() []string {
	c := n.cluster
	args := []string{"node", "--stdin"}
	if len(c.config.Run) > 0 {
		args = []string{"run"}
	}
	args = append(args, "--trace", "-", "--name", n.name, "--priority", strconv.Itoa(n.priority),
		"--listen", n.addr, "--data-dir", n.dir, "--log-level", "error")
	switch {
	case n.joins, c.config.Joins && n != c.nodes[0]:
		args = append(args, "--join", c.nodes[0].addr)
	case c.config.Joins:
		args = append(args, "--bootstrap")
	default:
		for _, m := range c.nodes {
			if !m.joins {
				args = append(args, "--members", m.addr)
			}
		}
	}
	args = append(args, c.config.Args...)
	if c.config.ArgsOf != nil {
		args = append(args, c.config.ArgsOf(n.name)...)
	}
	if len(c.config.Run) > 0 {
		args = append(append(args, "--"), c.config.Run...)
	}
	return args
}

// follow reads the output of the process until it ends.
func (n *node) follow(p *process, stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	var broken error
	for lines.Scan() {
		e, err := trace.ParseJSON(lines.Bytes())
		if err != nil {
			broken = fmt.Errorf("proccluster: %s wrote %q, want an event as JSON: %w", n.name, lines.Text(), err)
			break
		}
		n.record(p, e)
	}
	if err := lines.Err(); err != nil {
		broken = fmt.Errorf("proccluster: read %s: %w", n.name, err)
	}
	if broken != nil {
		n.cluster.fail(broken)
		n.kill(p)
		_, _ = io.Copy(io.Discard, stdout)
	}
	err := errors.Join(broken, p.cmd.Wait())
	_ = p.stdin.Close()
	n.cluster.change(func() {
		p.err = err
		n.procState = Down
		if n.cluster.failed == nil && !p.wanted && !n.cluster.closing && p.isReady() {
			n.cluster.failed = fmt.Errorf("proccluster: %s ended: %w", n.name, p.explain(err))
		}
	})
	close(p.done)
}

func (p *process) isReady() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

// record records an event.
func (n *node) record(p *process, e trace.Event) {
	c := n.cluster
	c.change(func() {
		at := int64(e.At)
		isElection := true // or a suspicion
		switch e.Kind {
		case trace.ConfigChanged:
			isElection, n.state.ConfigAt = false, at
		case trace.Ready:
			isElection = false
			n.addr, n.state.ID, n.state.ReadyAt = e.Text(), e.Node.String(), at
			if !p.isReady() {
				close(p.ready)
			}
		case trace.Lost:
			if c.failed == nil {
				c.failed = fmt.Errorf("proccluster: %s of %s are lost: this process reads too slowly", e.Text(), n.name)
			}
		default:
			n.state.record(e)
		}
		if isElection {
			c.lastEvent = time.Now()
		}
		c.log = append(c.log, nodeEvent{n.name, e})
		if c.config.OnEvent != nil {
			c.config.OnEvent(n.name, e)
		}
	})
}

// record records an event of an election.
func (s *State) record(e trace.Event) {
	peer := e.Peer.String()
	switch e.Kind {
	case trace.Announce:
		s.LeaderID, s.Epoch, s.IsLeader, s.AnnouncedAt = "", uint64(e.Leader.Epoch), IsOwnLeadership(e), int64(e.At)
		if !e.Leader.IsVacant() {
			s.LeaderID = e.Leader.ID.String()
		}
	case trace.Suspect:
		if !slices.Contains(s.Suspects, peer) {
			s.Suspects = append(slices.Clone(s.Suspects), peer)
		}
	case trace.Trust:
		s.Suspects = slices.DeleteFunc(slices.Clone(s.Suspects), func(id string) bool { return id == peer })
	case trace.Send:
		sent := maps.Clone(s.Sent)
		if sent == nil {
			sent = make(map[string]int)
		}
		sent[e.Message.Kind()]++
		s.Sent = sent
	}
}

// IsOwnLeadership reports whether e announces its own node.
func IsOwnLeadership(e trace.Event) bool { return e.Kind == trace.Announce && e.Leader.ID == e.Node }

// snapshot returns a copy of the state. It runs under cluster.mu.
func (n *node) snapshot() State {
	s := n.state
	s.Name, s.ProcState, s.Addr = n.name, n.procState, n.addr
	i := slices.IndexFunc(n.cluster.nodes, func(m *node) bool { return m.state.ID == s.LeaderID })
	if s.LeaderID != "" && i >= 0 {
		s.Leader = n.cluster.nodes[i].name
	}
	return s
}

// signal records the effect of s on the node and sends s. It records first, because the node
// may end at any time once the signal is sent.
func (n *node) signal(s Signal) (at int64, err error) {
	c := n.cluster
	var p *process
	c.change(func() {
		p = n.process
		if n.procState == Down || p == nil {
			err = fmt.Errorf("proccluster: %s %s: it is down", s, n.name)
			return
		}
		switch s {
		case Kill, Term:
			p.wanted, p.killed, n.procState = true, s == Kill, Down
		case Stop:
			n.procState = Paused
		case Cont:
			n.procState = Up
		}
		at = Now()
		if err = send(p.cmd.Process, s); err != nil {
			err = fmt.Errorf("proccluster: %s %s: %w", s, n.name, err)
		}
	})
	return at, err
}

// waitEnd waits for a process that was signaled to end, and kills it after endTimeout.
// It waits for a killed process without a limit: nothing ends that process sooner.
func (n *node) waitEnd() error {
	n.cluster.mu.Lock()
	p := n.process
	signaled, killed := p != nil && p.wanted, p != nil && p.killed
	n.cluster.mu.Unlock()
	if !signaled {
		return nil
	}
	if killed {
		<-p.done
		return nil
	}
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		n.kill(p)
		<-p.done
		return fmt.Errorf("proccluster: %s still ran %v after the signal to end", n.name, endTimeout)
	}
}

// kill kills p and does not wait for its end.
func (n *node) kill(p *process) {
	n.cluster.change(func() { p.wanted = true })
	_ = p.cmd.Process.Kill()
}

// end stops the node, with Term first if it is not paused.
func (n *node) end() {
	c := n.cluster
	c.mu.Lock()
	p, procState := n.process, n.procState
	c.mu.Unlock()
	if p == nil {
		return
	}
	if procState == Paused {
		_ = send(p.cmd.Process, Kill)
	}
	if err := send(p.cmd.Process, Term); err != nil {
		_ = p.cmd.Process.Kill() // also where there is no such signal
	}
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// describe returns a line for errors.
func (s State) describe() string {
	text := s.Name + " is " + string(s.ProcState)
	if s.ProcState == Up {
		leader := s.Leader
		if leader == "" {
			leader = "no leader"
		}
		text += fmt.Sprintf(" and follows %s in epoch %d", leader, s.Epoch)
	}
	return text
}

func describe(states []State) string {
	lines := make([]string, len(states))
	for i, s := range states {
		lines[i] = s.describe()
	}
	return strings.Join(lines, "; ")
}
