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
	inARow    = 20               // entries that show that one leads
	patience  = 30 * time.Second // for anything that is to happen
)

// event is what a member has printed.
type event struct {
	who   *process
	what  string
	token uint64
}

// process is a member, in a life of its own.
type process struct {
	name, listen string
	cmd          *exec.Cmd
	stdin        io.WriteCloser
}

// driver runs the members and disturbs who leads.
type driver struct {
	settings
	dir    string
	all    []*process
	events chan event
}

// drive has members write for a while, disturbs them, and says what is in the ledger then.
func drive(ctx context.Context, s settings, dir string, lasts time.Duration) (f findings, err error) {
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
	end := time.Now().Add(lasts)
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		leader, err := d.settled()
		if err == nil {
			disturb := []func(event) error{d.stop, d.cutOff, d.kill}[round%3]
			err = disturb(leader)
		}
		if err != nil {
			return f, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	entries, err := l.read(ctx)
	return check(entries), err
}

// settled waits until one leader has written for a while, and nobody else.
func (d *driver) settled() (event, error) {
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

// stop stops a leader that has looked whether it leads, and not yet written, until another has.
func (d *driver) stop(leader event) error {
	fmt.Printf("%s is stopped with token %d, between its look and its write\n", leader.who.name, leader.token)
	if err := leader.who.tell("hold"); err != nil {
		return err
	}
	held, err := d.await("the leader holds", func(e event) bool { return e.who == leader.who && (e.what == "holds" || e.what == "ended") })
	if err != nil {
		return err
	}
	if held.what == "holds" {
		if err := leader.who.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		_, err = d.next(held)
		if err := errors.Join(err, leader.who.cmd.Process.Signal(syscall.SIGCONT)); err != nil {
			return err
		}
	}
	if err := leader.who.tell("go"); err != nil || held.what != "holds" {
		return err
	}
	return d.tried(held, 1)
}

// cutOff has a leader reach the database, and not the others.
func (d *driver) cutOff(leader event) error {
	fmt.Printf("%s is cut off with token %d\n", leader.who.name, leader.token)
	if err := leader.who.tell("cut"); err != nil {
		return err
	}
	_, err := d.next(leader)
	if err == nil {
		err = d.tried(leader, 20) // some may be of before
	}
	return errors.Join(err, leader.who.tell("heal"))
}

// kill kills a leader, and starts it again when another has written.
func (d *driver) kill(leader event) error {
	fmt.Printf("%s is killed with token %d\n", leader.who.name, leader.token)
	if err := leader.who.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = leader.who.cmd.Wait() // it was killed
	if _, err := d.next(leader); err != nil {
		return err
	}
	return d.run(leader.who)
}

// next waits for what the next leader writes.
func (d *driver) next(after event) (event, error) {
	return d.await("another writes", func(e event) bool { return e.what == "wrote" && e.who != after.who && e.token > after.token })
}

// tried waits until a leader has tried some more times, was refused or has given up.
func (d *driver) tried(leader event, times int) error {
	e, err := d.await("the older leader tries", func(e event) bool {
		if e.who == leader.who && e.token == leader.token {
			times--
		}
		return e.who == leader.who && e.token == leader.token && (times == 0 || e.what == "refused" || e.what == "ended")
	})
	if err == nil {
		fmt.Printf("  another has written; %s: %s, with token %d\n", e.who.name, e.what, e.token)
	}
	return err
}

// await reads events until there is one of a kind.
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
		d.all = append(d.all, &process{name: fmt.Sprintf("n%d", i+1), listen: free.Addr().String()})
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
		"-data", filepath.Join(d.dir, p.name), "-db", d.db, fmt.Sprintf("-gate=%t", d.gate), "-algorithm", d.algorithm)
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
			e := event{who: p}
			if _, err := fmt.Sscan(lines.Text(), &e.what, &e.token); err == nil {
				d.events <- e
			}
		}
	}()
	return nil
}

// end has all members stop, and those that do not.
func (d *driver) end() (err error) {
	for _, p := range d.all {
		if p.cmd == nil || p.cmd.Process == nil {
			continue
		}
		p.stdin.Close()
		kill := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
		err = errors.Join(err, p.cmd.Wait())
		kill.Stop()
	}
	return err
}

func (p *process) tell(what string) error {
	_, err := fmt.Fprintln(p.stdin, what)
	return err
}
