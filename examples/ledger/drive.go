package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	processes = 3
	inARow    = 20               // consecutive entries that show a stable leader
	patience  = 90 * time.Second // time limit for each expected event
)

// event is a line that a member has printed.
type event struct {
	member *process
	what   string
	token  uint64
}

// process is a member in a process of its own.
type process struct {
	name, listen string
	version      version
	cmd          *exec.Cmd
	stdin        io.WriteCloser
}

// driver runs the members and disturbs the leader.
type driver struct {
	settings
	dir    string
	all    []*process
	events chan event
}

// drive runs members that write, while disturb disturbs them, and returns the findings on the ledger.
func drive(ctx context.Context, s settings, dir string, disturb func(*driver) error) (f findings, err error) {
	l, err := openLedger(s)
	if err != nil {
		return f, err
	}
	defer l.db.Close()
	if err := l.create(ctx); err != nil {
		return f, err
	}
	d := &driver{settings: s, dir: dir, events: make(chan event, 1000)}
	defer func() { err = errors.Join(err, d.end()) }()
	if err := d.choose(); err != nil {
		return f, err
	}
	for _, p := range d.all {
		if err := d.run(p); err != nil {
			return f, err
		}
	}
	if err := disturb(d); err != nil {
		return f, err
	}
	entries, err := l.read(ctx)
	return check(entries), err
}

// disturb disturbs leaders for some time, and at least one.
func (d *driver) disturb(lasts time.Duration) error {
	end := time.Now().Add(lasts)
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		leader, err := d.awaitLeader()
		if err == nil {
			disturb := []func(event) error{d.stop, d.cutOff, d.kill}[round%3]
			err = disturb(leader)
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	return nil
}

// awaitLeader waits until one leader has written inARow entries without an entry of another member.
func (d *driver) awaitLeader() (event, error) {
	var last event
	row := 0
	return d.await("one leader writes", func(e event) bool {
		if e.what != "wrote" {
			return false
		}
		if e != last {
			last, row = e, 0
		}
		row++
		return row == inARow
	})
}

// stop stops a leader between its check that it leads and its write, until another leader has written.
func (d *driver) stop(leader event) error {
	fmt.Printf("%s is stopped with token %d, between its check and its write\n", leader.member.name, leader.token)
	if err := leader.member.tell("hold"); err != nil {
		return err
	}
	held, err := d.await("the leader holds", func(e event) bool { return e.member == leader.member && (e.what == "holds" || e.what == "ended") })
	if err != nil {
		return err
	}
	if held.what == "holds" {
		if err := leader.member.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		_, err = d.next(held)
		if err := errors.Join(err, leader.member.cmd.Process.Signal(syscall.SIGCONT)); err != nil {
			return err
		}
	}
	if err := leader.member.tell("go"); err != nil || held.what != "holds" {
		return err
	}
	return d.tried(held, 1)
}

// cutOff disconnects a leader from the other members, but not from the database.
func (d *driver) cutOff(leader event) error {
	fmt.Printf("%s is cut off with token %d\n", leader.member.name, leader.token)
	if err := leader.member.tell("cut"); err != nil {
		return err
	}
	_, err := d.next(leader)
	if err == nil {
		err = d.tried(leader, 20) // some may be older
	}
	return errors.Join(err, leader.member.tell("heal"))
}

// kill kills a leader and starts it again when another leader has written.
func (d *driver) kill(leader event) error {
	fmt.Printf("%s is killed with token %d\n", leader.member.name, leader.token)
	if err := leader.member.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = leader.member.cmd.Wait() // it was killed
	if _, err := d.next(leader); err != nil {
		return err
	}
	return d.run(leader.member)
}

// next waits for an entry of the next leader.
func (d *driver) next(after event) (event, error) {
	return d.await("another writes", func(e event) bool { return e.what == "wrote" && e.member != after.member && e.token > after.token })
}

// tried waits until a leader has written times more entries, or its write was refused, or it has ended.
func (d *driver) tried(leader event, times int) error {
	e, err := d.await("the older leader tries", func(e event) bool {
		if e.member == leader.member && e.token == leader.token {
			times--
		}
		return e.member == leader.member && e.token == leader.token && (times == 0 || e.what == "refused" || e.what == "ended")
	})
	if err == nil {
		fmt.Printf("  another has written; %s: %s, with token %d\n", e.member.name, e.what, e.token)
	}
	return err
}

// await reads events until is accepts one.
func (d *driver) await(what string, is func(event) bool) (event, error) {
	late := time.After(patience)
	for {
		select {
		case e := <-d.events:
			if is(e) {
				return e, nil
			}
		case <-late:
			return event{}, fmt.Errorf("%s: not within %v", what, patience)
		}
	}
}

// choose picks a free port for each process.
func (d *driver) choose() error {
	for i := range processes {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer free.Close() // not before all are chosen: they must differ
		d.all = append(d.all, &process{name: fmt.Sprintf("n%d", i+1), listen: free.Addr().String(), version: embedded})
	}
	return nil
}

func (d *driver) run(p *process) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var members []string
	for _, p := range d.all {
		members = append(members, p.listen)
	}
	p.cmd = exec.Command(self, "member", "-name", p.name, "-listen", p.listen, "-members", strings.Join(members, ","),
		"-data", filepath.Join(d.dir, p.name), "-db", d.db, fmt.Sprintf("-gate=%t", d.gate), "-algorithm", d.algorithm,
		"-etcd", d.etcd, "-version", string(p.version))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			e := event{member: p}
			if _, err := fmt.Sscan(lines.Text(), &e.what, &e.token); err == nil {
				d.events <- e
			}
		}
	}()
	return nil
}

// end stops all members, and kills a member that does not stop in time.
func (d *driver) end() (err error) {
	for _, p := range d.all {
		err = errors.Join(err, p.end())
	}
	return err
}

// end stops the member, if it was started.
func (p *process) end() error {
	if p.cmd == nil || p.cmd.Process == nil {
		return nil
	}
	p.stdin.Close()
	kill := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	return p.cmd.Wait()
}

func (p *process) tell(what string) error {
	_, err := fmt.Fprintln(p.stdin, what)
	return err
}
