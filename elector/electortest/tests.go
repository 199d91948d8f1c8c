package electortest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/elect-go/elect/elector"
)

// current returns the current state of an elector.
func current(e elector.Elector) (state elector.State) {
	for state = range e.Watch(context.Background()) {
		break
	}
	return state
}

func testAgreement(s *suite) {
	leader := s.agree(s.Names()...)
	for _, name := range s.Names() {
		e := s.Elector(name)
		state := current(e)
		if state.IsLeader != (name == leader.Name) || state.Leader.Token != leader.Token || !state.HasLeader() {
			s.Errorf("the state of %s is %+v, and the leader is %+v", name, state, leader)
		}
		if e.Claims() != s.claims() {
			s.Errorf("%s claims %+v, another contender %+v", name, e.Claims(), s.claims())
		}
		if _, bounded := state.Leader.Deadline(); bounded {
			s.Errorf("%s shows a deadline outside of its work", name)
		}
	}
	working := s.history.current(leader.Name)
	if end, bounded := working.Deadline(); bounded != s.claims().Exclusive || bounded && end.Before(working.Last.time) {
		s.Errorf("deadline %v, %v of work that claims %+v", end, bounded, s.claims())
	}
}

// testFault injects a fault into the leader. Another contender takes over, and all agree after the fault.
func (s *suite) testFault(fault Fault) {
	old := s.agree(s.Names()...)
	end := s.Inject(fault, old.Name)
	if end == nil {
		s.Skipf("the engine has no contender that is %s", fault)
	}
	s.divided = fault != Kill
	next := s.agree(s.others(old.Name)...)
	if next.Name == old.Name {
		s.Errorf("%s leads while it is %s", old.Name, fault)
	}
	if s.claims().Exclusive || fault == Kill {
		ended := s.waitEnded(old)
		if fault != Kill && !errors.Is(ended.Cause, elector.ErrLost) {
			s.Errorf("the work of %s, %s, ended with %v, want ErrLost", old.Name, fault, ended.Cause)
		}
	}
	s.mend(end)
	s.agree(s.Names()...)
	if fault != Kill {
		s.waitEnded(old)
	}
}

// handsOver lets the leader give up, and requires that its work has returned before the next one begins.
func (s *suite) handsOver(cause error, giveUp func(old elector.Leadership)) {
	s.Helper()
	old := s.agree(s.Names()...)
	giveUp(old)
	ended := s.waitEnded(old)
	if !errors.Is(ended.Cause, cause) {
		s.Errorf("the work of %s ended with %v, want %v", old.Name, ended.Cause, cause)
	}
	var next *term
	s.eventually("another contender works", func() bool {
		for _, t := range s.history.all() {
			if t.Name != old.Name && t.Token != old.Token && !t.First.isZero() && ended.First.before(t.First) {
				next = &t
				return true
			}
		}
		return false
	})
	if next.First.before(ended.Ended) {
		s.Errorf("the next work began before the last one had returned:\n\t%v\n\t%v", ended, next)
	}
}

func testResign(s *suite) {
	s.handsOver(elector.ErrResigned, func(old elector.Leadership) {
		follower := s.others(old.Name)[0]
		if err := s.Elector(follower).Resign(s.ctx); err != nil {
			s.Errorf("%s does not lead and resigns: %v", follower, err)
		}
		if now := s.history.current(old.Name); now == nil || now.Token != old.Token {
			s.Errorf("the resignation of a follower has ended the work of %s", old.Name)
		}
		if err := s.Elector(old.Name).Resign(s.ctx); err != nil {
			s.Errorf("resign: %v", err)
		}
		l, known := s.Elector(old.Name).Leader()
		if !known || l.Name == old.Name && l.Token == old.Token {
			s.Errorf("after Resign the leader is %+v, %v", l, known)
		}
		if state := current(s.Elector(old.Name)); !state.IsLeader && !errors.Is(state.Cause, elector.ErrResigned) {
			s.Errorf("the cause is %v, want ErrResigned", state.Cause)
		}
	})
	s.agree(s.Names()...)
}

func testTwoResignations(s *suite) {
	s.handsOver(elector.ErrResigned, func(old elector.Leadership) {
		var resigning sync.WaitGroup
		for range 2 {
			resigning.Go(func() {
				if err := s.Elector(old.Name).Resign(s.ctx); err != nil {
					s.Errorf("resign: %v", err)
				}
			})
		}
		resigning.Wait()
	})
	s.agree(s.Names()...)
}

// testResignFromWork resigns with the context of the work, which ends at once.
func testResignFromWork(s *suite) {
	s.handsOver(elector.ErrResigned, func(old elector.Leadership) {
		resigned := make(chan error, 1)
		ctx, stop := context.WithCancel(s.ctx)
		s.works.Go(func() {
			defer stop()
			_ = s.Elector(old.Name).Lead(ctx, func(ctx context.Context, l elector.Leadership) error {
				if l.Token == old.Token {
					resigned <- s.Elector(old.Name).Resign(ctx)
					stop()
				}
				return nil
			})
		})
		if err := <-resigned; !errors.Is(err, elector.ErrResigned) {
			s.Errorf("resign with the context of the work: %v, want ErrResigned", err)
		}
	})
}

var errQuit = errors.New("electortest: the work has done its part")

func testReturn(s *suite) {
	s.handsOver(elector.ErrResigned, func(old elector.Leadership) {
		err := s.Elector(old.Name).Lead(s.ctx, func(ctx context.Context, l elector.Leadership) error { return errQuit })
		if err != errQuit {
			s.Errorf("Lead returned %v, want the error of the work", err)
		}
	})
	s.agree(s.Names()...)
}

func testStop(s *suite) {
	var stopped string
	s.handsOver(elector.ErrStopped, func(old elector.Leadership) {
		e := s.Elector(old.Name)
		var last elector.State
		var watching sync.WaitGroup
		watching.Go(func() {
			for state := range e.Watch(context.Background()) {
				last = state
			}
		})
		s.Stop(old.Name)
		watching.Wait()
		if last.HasLeader() || last.IsLeader || !errors.Is(last.Cause, elector.ErrStopped) {
			s.Errorf("the last state of a contender that has stopped is %+v", last)
		}
		if l, known := e.Leader(); known {
			s.Errorf("a contender that has stopped knows the leader %+v", l)
		}
		if err := e.Lead(s.ctx, nil); !errors.Is(err, elector.ErrStopped) {
			s.Errorf("Lead after the end of Run: %v, want ErrStopped", err)
		}
		if err := e.Resign(s.ctx); !errors.Is(err, elector.ErrStopped) {
			s.Errorf("Resign after the end of Run: %v, want ErrStopped", err)
		}
		if err := e.Run(s.ctx); !errors.Is(err, elector.ErrAlreadyStarted) {
			s.Errorf("a second Run: %v, want ErrAlreadyStarted", err)
		}
		stopped = old.Name
	})
	s.start(stopped) // later, because it could lead again before another one does
	s.agree(s.Names()...)
}

// testRestart stops and starts all contenders: tokens rise also then.
func testRestart(s *suite) {
	old := s.agree(s.Names()...)
	for _, name := range s.Names() {
		s.Stop(name)
	}
	s.waitEnded(old)
	for _, name := range s.Names() {
		s.start(name)
	}
	if next := s.agree(s.Names()...); s.claims().RisingTokens && next.Token <= old.Token {
		s.Errorf("%+v leads after %+v", next, old)
	}
}

// testTwoWorks runs a second work on each contender. When it returns, both works of the leadership end.
func testTwoWorks(s *suite) {
	quit := make(chan struct{})
	results := make(chan error, len(s.Names()))
	for _, name := range s.Names() {
		e := s.Elector(name)
		s.works.Go(func() {
			results <- e.Lead(s.ctx, func(ctx context.Context, l elector.Leadership) error {
				if err := s.history.work(ctx, name, l, quit); err != nil {
					return err
				}
				if ctx.Err() == nil {
					return errQuit
				}
				return nil
			})
		})
	}
	s.handsOver(elector.ErrResigned, func(old elector.Leadership) {
		s.eventually("both works run", func() bool {
			n := 0
			for _, t := range s.history.all() {
				if t.Name == old.Name && t.Token == old.Token && !t.First.isZero() && t.Ended.isZero() {
					n++
				}
			}
			return n == 2
		})
		close(quit)
		if err := <-results; err != errQuit {
			s.Errorf("Lead returned %v, want the error of the work", err)
		}
	})
}

// testLone requires that a contender without another one leads on.
func testLone(s *suite) {
	old := s.agree(s.Names()...)
	e := s.Elector(old.Name)
	if err := e.Resign(s.ctx); !errors.Is(err, elector.ErrNoOther) {
		s.Errorf("resign: %v, want ErrNoOther", err)
	}
	err := e.Lead(s.ctx, func(context.Context, elector.Leadership) error { return errQuit })
	if err != errQuit {
		s.Errorf("Lead returned %v, want the error of the work", err)
	}
	if next := s.agree(s.Names()...); next.Token != old.Token {
		s.Errorf("%+v leads after %+v", next, old)
	}
	s.Stop(old.Name)
	s.waitEnded(old)
	s.start(old.Name)
	if next := s.agree(s.Names()...); s.claims().RisingTokens && next.Token <= old.Token {
		s.Errorf("%+v leads after %+v", next, old)
	}
}

func testContexts(s *suite) {
	leader := s.agree(s.Names()...)
	e := s.Elector(s.others(leader.Name)[0])
	ctx, cancel := context.WithCancelCause(s.ctx)
	cancel(errQuit)
	if err := e.Lead(ctx, nil); err != errQuit {
		s.Errorf("Lead with an ended context: %v, want its cause", err)
	}
	for range e.Watch(ctx) {
		continue // one state at most
	}
	if err := e.Run(s.ctx); !errors.Is(err, elector.ErrAlreadyStarted) {
		s.Errorf("a second Run: %v, want ErrAlreadyStarted", err)
	}

	// The end of the context of Lead ends this work only.
	ctx, cancel = context.WithCancelCause(s.ctx)
	began := make(chan struct{})
	leading := make(chan error, 1)
	go func() {
		leading <- s.Elector(leader.Name).Lead(ctx, func(ctx context.Context, l elector.Leadership) error {
			close(began)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-began
	cancel(errQuit)
	if err := <-leading; err != errQuit {
		s.Errorf("Lead after the end of its context: %v, want its cause", err)
	}
	s.agree(s.Names()...)
}

// testServers injects a fault into the servers, during which the contenders go on, or begin again.
func (s *suite) testServers(fault Fault) {
	s.agree(s.Names()...)
	end := s.Inject(fault, "")
	if end == nil {
		s.Skipf("the engine cannot have the fault: %s", fault)
	}
	s.resign()
	end()
	s.resign()
}

// resign lets the leader resign, and another contender lead.
func (s *suite) resign() {
	s.Helper()
	leader := s.agree(s.Names()...)
	ctx, cancel := context.WithTimeout(s.ctx, s.RecoveryTimeout())
	defer cancel()
	if err := s.Elector(leader.Name).Resign(ctx); err != nil {
		s.Errorf("resign: %v", err)
	}
	s.agree(s.Names()...)
}

// testSlowDisk lets the leader resign, and all contenders begin again, while each write is slow.
func testSlowDisk(s *suite) {
	s.agree(s.Names()...)
	end := s.Inject(SlowDisk, "")
	if end == nil {
		s.Skipf("the engine cannot have the fault: %s", SlowDisk)
	}
	s.divided = true // a slow save may cause a false suspicion, and then a second leader
	s.resign()
	testRestart(s)
	end()
	s.agree(s.Names()...)
}

// testFullDisk takes the leader away while nothing can be saved. At the end all contenders start with what is on their
// disks: tokens rise also then.
func testFullDisk(s *suite) {
	s.withFullDisk(func(old elector.Leadership) {
		e := s.Elector(old.Name)
		s.works.Go(func() { _ = e.Resign(s.ctx) }) // perhaps no contender can lead after it
	})
	s.withFullDisk(func(old elector.Leadership) { s.mend(s.Inject(Kill, old.Name)) })
	testRestart(s)
}

// withFullDisk ends the work of the leader by a function while the disks are full.
func (s *suite) withFullDisk(giveUp func(old elector.Leadership)) {
	s.Helper()
	old := s.agree(s.Names()...)
	end := s.Inject(FullDisk, "")
	if end == nil {
		s.Skipf("the engine cannot have the fault: %s", FullDisk)
	}
	giveUp(old)
	s.waitEnded(old)
	s.mend(end)
	if next := s.agree(s.Names()...); s.claims().RisingTokens && next.Token <= old.Token {
		s.Errorf("%+v leads after %+v", next, old)
	}
}

// testMajority takes the majority from the engine. All work ends in time, each contender reports the vacancy, and a
// contender can be stopped. When the majority is back, one leads again.
func testMajority(s *suite) {
	if !s.claims().Exclusive {
		s.Skip("the engine does not need a majority")
	}
	old := s.agree(s.Names()...)
	vacant := make(chan string, len(s.Names()))
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	end := s.Inject(LoseMajority, "")
	if end == nil {
		s.Skip("the engine cannot lose its majority")
	}
	s.divided = true
	for _, name := range s.Names() {
		watching.Go(func() {
			for state := range s.Elector(name).Watch(ctx) {
				if !state.HasLeader() {
					vacant <- name
					return
				}
			}
		})
	}
	if ended := s.waitEnded(old); !errors.Is(ended.Cause, elector.ErrLost) {
		s.Errorf("the work of %s ended with %v, want ErrLost", old.Name, ended.Cause)
	}
	limit := time.After(s.RecoveryTimeout())
	for range s.Names() {
		select {
		case <-vacant:
		case <-limit:
			s.Fatalf("not all contenders report the vacancy\n%s", s.history)
		}
	}
	stopped := s.others(old.Name)[0]
	s.Stop(stopped)
	end()
	s.start(stopped)
	s.agree(s.Names()...)
}
