// Package electortest is the suite that every [elector.Elector] passes: an election by package cluster with each
// algorithm, with the lease and without it, an etcd, and a Lease of Kubernetes.
//
//	func TestElector(t *testing.T) {
//		electortest.Run(t, electortest.Engine{New: func(t *testing.T, contenders int) electortest.Group { … }})
//	}
//
// The suite starts contenders that work while they lead, injects faults, and checks the duties that the package comment
// of elector lists. The engine injects the faults. The suite skips a fault that the engine cannot have.
//
// # What it measures
//
// Work reads its clock, and then checks its context and its deadline. A reading counts only if both checks pass after
// it. So the suite compares what the contenders may believe by their own clocks, and the speed of the machine has no
// influence. All contenders read the clock of one process.
package electortest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/elect-go/elect/elector"
)

// Fault is a fault that a Group injects.
type Fault string

// The faults of one contender. The suite injects them into the one that leads.
const (
	// Kill ends the contender as SIGKILL does: nothing that it still sends arrives. Its work is cancelled, because a
	// test cannot kill a goroutine. The end of the fault starts it again.
	Kill Fault = "killed"
	// Pause stops the contender as SIGSTOP does.
	Pause Fault = "paused"
	// CutOff separates the contender from all others, and from the servers of the engine.
	CutOff Fault = "cut off"
)

// The faults of the engine. The name of the contender is empty.
const (
	// RestartServer restarts each server of the engine, one after another.
	RestartServer Fault = "server restarted"
	// KillServer kills the leader among the servers. The end of the fault starts it again.
	KillServer Fault = "leading server killed"
	// LoseMajority stops all servers, or separates all contenders from each other.
	LoseMajority Fault = "majority lost"
	// FullDisk leaves no space on the disks of the engine. The end of the fault first waits until a write has failed. Then
	// there is space again. A contender with a disk of its own is killed, unless it has stopped, and starts again with
	// what is on the disk.
	FullDisk Fault = "disk full"
	// SlowDisk slows each write to a disk of the engine down, by less than the engine tolerates.
	SlowDisk Fault = "disk slow"
)

// Group is the contenders of one election, and the faults of their engine. The suite calls its methods from the
// goroutine of the test. They fail the test on an error. All contenders stop at the end of the test.
type Group interface {
	// Names returns the names of all contenders. All of them run at first.
	Names() []string
	// Elector returns the elector that the contender was last started with. Two electors are comparable.
	Elector(name string) elector.Elector
	// Start starts a stopped contender again: a new elector, with what the old one has left on a disk.
	Start(name string)
	// Stop ends the context of Run, and returns when Run has returned nil.
	Stop(name string)
	// Inject injects a fault. The function ends it. It is nil if the engine cannot have the fault.
	Inject(fault Fault, name string) (end func())
	// RecoveryTimeout is the time within which the group has recovered from a fault, however slow the machine is. The
	// suite waits no longer than needed.
	RecoveryTimeout() time.Duration
}

// Engine makes groups.
type Engine struct {
	// New returns a group of contenders that run.
	New func(t *testing.T, contenders int) Group
	// Within runs a test, for example in a bubble of testing/synctest. Default: it calls the test.
	Within func(t *testing.T, test func(t *testing.T))
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, engine Engine) {
	for _, test := range []struct {
		name       string
		contenders int
		run        func(s *suite)
	}{
		{"contenders agree", 3, testAgreement},
		{"holder killed", 3, func(s *suite) { s.testFault(Kill) }},
		{"holder paused", 3, func(s *suite) { s.testFault(Pause) }},
		{"holder cut off", 3, func(s *suite) { s.testFault(CutOff) }},
		{"holder resigns", 3, testResign},
		{"holder resigns twice at once", 3, testTwoResignations},
		{"work resigns with own context", 3, testResignFromWork},
		{"work returns", 3, testReturn},
		{"holder stops", 3, testStop},
		{"all restart", 3, testRestart},
		{"two works", 3, testTwoWorks},
		{"lone contender", 1, testLone},
		{"ended contexts", 3, testContexts},
		{"servers restarted", 3, func(s *suite) { s.testServers(RestartServer) }},
		{"leading server killed", 3, func(s *suite) { s.testServers(KillServer) }},
		{"majority lost", 3, testMajority},
		{"disk full", 3, testFullDisk},
		{"disk slow", 3, testSlowDisk},
	} {
		t.Run(test.name, func(t *testing.T) {
			within := engine.Within
			if within == nil {
				within = func(t *testing.T, test func(t *testing.T)) { test(t) }
			}
			within(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(context.Background())
				s := &suite{T: t, ctx: ctx, history: newHistory()}
				t.Cleanup(s.works.Wait)
				t.Cleanup(stop)
				s.Group = engine.New(t, test.contenders)
				for _, name := range s.Names() {
					s.lead(name)
				}
				test.run(s)
				s.check()
			})
		})
	}
}

// suite is one test.
type suite struct {
	*testing.T
	Group
	ctx     context.Context // of all work
	works   sync.WaitGroup
	history *history
	divided bool // a fault has divided the contenders
}

// claims returns the claims of the group.
func (s *suite) claims() elector.Claims { return s.Elector(s.Names()[0]).Claims() }

// lead lets the contender work while it leads.
func (s *suite) lead(name string) {
	e := s.Elector(name)
	s.works.Go(func() { s.history.follow(s.ctx, e) })
	s.works.Go(func() {
		for s.ctx.Err() == nil {
			err := e.Lead(s.ctx, func(ctx context.Context, l elector.Leadership) error {
				return s.history.work(ctx, name, l, nil)
			})
			if err != nil { // of s.ctx, or the elector has stopped
				return
			}
		}
	})
}

// start starts a stopped contender again, and lets it work.
func (s *suite) start(name string) {
	s.Helper()
	s.Start(name)
	s.lead(name)
}

// mend ends a fault, and lets each contender work that was started again.
func (s *suite) mend(end func()) {
	s.Helper()
	before := make(map[string]elector.Elector)
	for _, name := range s.Names() {
		before[name] = s.Elector(name)
	}
	end()
	for _, name := range s.Names() {
		if s.Elector(name) != before[name] {
			s.lead(name)
		}
	}
}

// eventually waits until the condition holds, and fails the test if it does not within the RecoveryTimeout of the
// group.
func (s *suite) eventually(what string, holds func() bool) {
	s.Helper()
	for limit := time.After(s.RecoveryTimeout()); ; {
		changed := s.history.next()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-limit:
			s.Fatalf("not within %v: %s\n%s", s.RecoveryTimeout(), what, s.history)
		}
	}
}

// agree waits until the named contenders know one leader among them, and the leader works with the token that all know.
func (s *suite) agree(names ...string) (leader elector.Leadership) {
	s.Helper()
	s.eventually(fmt.Sprintf("%v agree on a leader that works", names), func() bool {
		for i, name := range names {
			l, known := s.Elector(name).Leader()
			if !known || i > 0 && (l.Name != leader.Name || l.Token != leader.Token || l.Scope != leader.Scope) {
				return false
			}
			leader = l
		}
		now := s.history.current(leader.Name)
		return slices.Contains(names, leader.Name) && now != nil && now.Token == leader.Token
	})
	return leader
}

// others returns the names of all contenders but one.
func (s *suite) others(name string) []string {
	return slices.DeleteFunc(slices.Clone(s.Names()), func(other string) bool { return other == name })
}

// waitEnded waits until the last term of the contender up to a token has ended, and returns it.
func (s *suite) waitEnded(l elector.Leadership) (ended term) {
	s.Helper()
	s.eventually(fmt.Sprintf("the work of %s with token %d ends", l.Name, l.Token), func() bool {
		t := s.history.find(l)
		if t != nil {
			ended = *t
		}
		return t != nil && !t.Ended.isZero()
	})
	return ended
}

// check fails the test if the history contradicts the claims.
func (s *suite) check() {
	s.Helper()
	claims := s.claims()
	for _, violation := range violations(s.history.all(), claims.Exclusive, claims.RisingTokens || !s.divided) {
		s.Errorf("%s\n%s", violation, s.history)
	}
}
