package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
)

// The application's view: processes that work while they lead. The process that works is killed, and the time until the
// work of another one begins is measured.

const (
	etcdElection   = "etcd-election"
	watchdogSystem = "elect-watchdog"
	shortestTTL    = 1 // s; a server of etcd with its defaults raises it to 2
	electionPrefix = "/bench"
	// workBegun is the metric: from right before SIGKILL to the process that works, until the work of the next one.
	workBegun = "ms/work-begun"
)

// application is a system as an application uses it.
type application struct {
	name    string
	promise string // what the application may rely on
	about   string // the settings
	beat    time.Duration
}

func applications() []application {
	lan := algo.LAN()
	return []application{
		{ours, "none: two may work at once, as in a partition", "the library, bully, lease off, preset lan", lan.Heartbeat},
		{"elect-lease", "at most one works, if all clocks run at the right rate within a tenth", "the library, bully, the lease, preset lan", lan.Heartbeat},
		{"elect-evidence", "the same, if no device refuses connections on behalf of a live process", "the library, bully, the lease with trust_evidence, preset lan", lan.Heartbeat},
		{watchdogSystem, "as elect-lease: the watchdog gives the lease back when nothing of the command is left", "elect run, bully, the lease, preset lan", lan.Heartbeat},
		{etcdElection, "one key: a session counts its TTL from the answer, so two may work for a moment",
			fmt.Sprintf("concurrency.Election of etcd's client, TTL %d s (2 s on the servers), 3 servers of etcd in processes of their own", shortestTTL), 2 * time.Second / 3},
	}
}

func applicationNames() (names []string) {
	for _, a := range applications() {
		names = append(names, a.name)
	}
	return names
}

func parseApplication(s string) (string, error) {
	if !slices.Contains(applicationNames(), s) {
		return "", fmt.Errorf("%q, want some of %s", s, strings.Join(applicationNames(), ", "))
	}
	return s, nil
}

// measureApplications runs the rounds of the systems in turn.
func (o *options) measureApplications(ctx context.Context, r *runner, own string, stderr io.Writer) (run result.Run, err error) {
	var settings []Settings
	var chosen []application
	for _, a := range applications() {
		if slices.Contains(o.applications, a.name) {
			chosen = append(chosen, a)
			settings = append(settings, Settings{System: a.name, Setting: "application", Lines: []string{a.about, "promise: " + a.promise}})
		}
	}
	run = o.begin(r.dir, own, settings)
	run.Versions = versionsOf([]string{ours}, own)
	addVersion(run.Versions, "go.etcd.io/etcd/client/v3")
	addVersion(run.Versions, "go.etcd.io/etcd/server/v3")
	done, total := 0, o.rounds*len(chosen)*len(o.nodes)
	for _, nodes := range o.nodes {
		for round := 1; round <= o.rounds; round++ {
			for _, a := range chosen {
				name := result.Name("Application", "system", a.name, "n", nodes)
				took, err := r.applicationRound(ctx, a, nodes)
				if ctx.Err() != nil {
					return run, context.Cause(ctx)
				}
				done++
				if err != nil {
					run.Skipped = append(run.Skipped, fmt.Sprintf("%s round %d: failed: %v", name, round, err))
					fmt.Fprintf(stderr, "%d/%d %s\n", done, total, run.Skipped[len(run.Skipped)-1])
					continue
				}
				values := map[string]float64{workBegun: stats.MS(took)}
				run.Trials = append(run.Trials, result.Trial{Name: name, Values: values})
				fmt.Fprintf(stderr, "%d/%d %s round %d: %s\n", done, total, name, round, formatValues(values))
			}
		}
	}
	return run, nil
}

// applicationRound starts the processes of a system, kills the one that works, and returns the time until the work of
// another one began.
func (r *runner) applicationRound(ctx context.Context, a application, nodes int) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*roundTimeout, errors.New("it took too long"))
	defer cancel()
	dir, err := os.MkdirTemp(r.dir, "round-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p := &processes{dir: dir, began: make(chan begun, nodes)}
	defer p.end()
	awaitReady, err := p.startSystem(ctx, r, a.name, nodes)
	if err != nil {
		return 0, err
	}
	holder, err := p.next(ctx, nil)
	if err == nil {
		err = awaitReady()
	}
	if err != nil {
		return 0, err
	}
	if err := proccluster.Sleep(ctx, warmUp+time.Duration(r.random.Int64N(int64(a.beat)))); err != nil {
		return 0, err
	}
	for len(p.began) > 0 { // a better candidate took over while the others were starting
		holder = <-p.began
	}
	at := proccluster.Now()
	if err := holder.process.cmd.Process.Kill(); err != nil {
		return 0, err
	}
	next, err := p.next(ctx, holder.process)
	return time.Duration(next.at - at), err
}

// processes are the processes of a round.
type processes struct {
	dir   string
	all   []*process
	began chan begun
}

type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	ended  sync.WaitGroup // its output: also the processes that it has started have ended
	stderr bytes.Buffer
}

// begun says that the work of a process has begun.
type begun struct {
	process *process
	at      int64
}

// start starts a process.
func (p *processes) start(ctx context.Context, name string, command ...string) error {
	one := &process{name: name, cmd: exec.Command(command[0], command[1:]...)}
	one.cmd.Dir, one.cmd.Stderr = p.dir, &one.stderr
	stdin, err := one.cmd.StdinPipe()
	if err != nil {
		return err
	}
	one.stdin = stdin
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	one.cmd.Stdout = in
	err = one.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return err
	}
	p.all = append(p.all, one)
	one.ended.Go(func() {
		defer out.Close()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			text, isWork := strings.CutPrefix(lines.Text(), works)
			if at, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); isWork && err == nil {
				select {
				case p.began <- begun{one, at}:
				case <-ctx.Done():
				}
			}
		}
	})
	return nil
}

// next waits until the work of a process begins that is not except.
func (p *processes) next(ctx context.Context, except *process) (begun, error) {
	for {
		select {
		case b := <-p.began:
			if b.process != except {
				return b, nil
			}
		case <-ctx.Done():
			return begun{}, fmt.Errorf("no work begins: %w\n%s", context.Cause(ctx), p.said())
		}
	}
}

// said returns what the processes have written to their standard errors. It ends them.
func (p *processes) said() string {
	p.end()
	var text strings.Builder
	for _, one := range p.all {
		if said := strings.TrimSpace(one.stderr.String()); said != "" {
			fmt.Fprintf(&text, "%s: %s\n", one.name, said)
		}
	}
	return text.String()
}

// end stops all processes, and returns when nothing of them is left.
func (p *processes) end() {
	for _, one := range p.all {
		one.stdin.Close()
		_ = one.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, one := range p.all {
		kill := time.AfterFunc(10*time.Second, func() { _ = one.cmd.Process.Kill() })
		_ = one.cmd.Wait()
		kill.Stop()
		one.ended.Wait()
	}
}

// startSystem starts the processes of a system. The function waits until each of them can take over.
func (p *processes) startSystem(ctx context.Context, r *runner, system string, nodes int) (awaitReady func() error, err error) {
	if system == etcdElection {
		return p.startEtcd(ctx, r, nodes)
	}
	addrs, err := freeAddrs(nodes)
	if err != nil {
		return nil, err
	}
	for i, addr := range addrs {
		name := proccluster.Name(i + 1)
		flags := []string{"--name", name, "--listen", addr, "--members", strings.Join(addrs, ","), "--data-dir", filepath.Join(p.dir, name)}
		command := slices.Concat([]string{r.self, contenderCommand, "--system", system}, flags)
		if system == watchdogSystem {
			command = slices.Concat([]string{r.elect, "run", "--log-level", "error"}, flags, []string{"--", r.self, workCommand})
		}
		if err := p.start(ctx, name, command...); err != nil {
			return nil, err
		}
	}
	return func() error { return awaitOneLeader(ctx, addrs) }, nil
}

// startEtcd starts three servers of etcd, and contenders.
func (p *processes) startEtcd(ctx context.Context, r *runner, nodes int) (awaitReady func() error, err error) {
	const servers = 3
	addrs, err := freeAddrs(2 * servers)
	if err != nil {
		return nil, err
	}
	endpoints, peers := addrs[:servers], addrs[servers:]
	var initial []string
	for i, peer := range peers {
		initial = append(initial, fmt.Sprintf("s%d=http://%s", i+1, peer))
	}
	for i := range servers {
		name := fmt.Sprintf("s%d", i+1)
		err := p.start(ctx, name, r.self, serverCommand, "-name", name, "-listen", endpoints[i], "-peer", peers[i],
			"-members", strings.Join(initial, ","), "-data-dir", filepath.Join(p.dir, name))
		if err != nil {
			return nil, err
		}
	}
	operator, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { operator.Close() })
	if _, err := operator.Get(ctx, electionPrefix); err != nil { // waits until the servers have a leader
		return nil, fmt.Errorf("the servers of etcd: %w\n%s", err, p.said())
	}
	for i := range nodes {
		name := proccluster.Name(i + 1)
		if err := p.start(ctx, name, r.self, contenderCommand, "-system", etcdElection, "-name", name, "-endpoints", strings.Join(endpoints, ",")); err != nil {
			return nil, err
		}
	}
	return func() error {
		return poll(ctx, func() bool {
			resp, err := operator.Get(ctx, electionPrefix+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			return err == nil && resp.Count == int64(nodes)
		})
	}, nil
}

// awaitOneLeader waits until all members follow one leader.
func awaitOneLeader(ctx context.Context, addrs []string) error {
	return poll(ctx, func() bool {
		var leader algo.NodeID
		for i, addr := range addrs {
			s, err := client.Client{}.Status(ctx, addr)
			if err != nil || s.Leader == nil || i > 0 && *s.Leader != leader || len(s.Members) != len(addrs) {
				return false
			}
			leader = *s.Leader
		}
		return true
	})
}

// poll waits until the condition holds.
func poll(ctx context.Context, holds func() bool) error {
	for !holds() {
		if err := proccluster.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// freeAddrs returns addresses that were free just now.
func freeAddrs(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // not before all are chosen: they must differ
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// writeApplications writes the table of the application's view, if the results have one.
func writeApplications(w io.Writer, f result.File) {
	rows, _ := report.Rows(f.Results, ".name:Application", "/n,/system")
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### The application's view: the process that works gets SIGKILL\n\n")
	t := table{header: []string{"processes", "system", "rounds", "until the next one works, median", "p10", "p90", "promise"}}
	for _, r := range rows {
		s := stats.Summarize(r.Values[workBegun])
		promise := "-"
		for _, a := range applications() {
			if a.name == r.Key[1] {
				promise = a.promise
			}
		}
		t.rows = append(t.rows, []string{r.Key[0], r.Key[1], strconv.Itoa(r.Trials()), milliseconds(s.Median), milliseconds(s.P10), milliseconds(s.P90), promise})
	}
	t.write(w)
}
