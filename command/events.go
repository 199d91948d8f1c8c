package command

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/config"
	"github.com/elect-go/elect/internal/disk"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/fleet"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/trace"
)

// runWatched runs a node that belongs to a fleet: it writes what happens as events to
// standard output. It does what the lines on its standard input say, and stops when that
// ends, for then its parent is gone.
func runWatched(ctx context.Context, s *config.Settings, log *slog.Logger, r *reloader) error {
	if _, err := newNode(ctx, s); err != nil { // before its folder is touched
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watched{stream: fleet.NewStream(os.Stdout), clock: fleet.NewStamper(), others: make(map[string]bool)}
	defer w.stream.Close()
	for _, m := range engine.Messages() {
		w.others[m.Kind()] = true
	}
	s.Config.Logger, s.Config.Trace, s.Config.Network.Listen = log, w.see, w.listen
	if data := s.Config.Data; data != "" {
		open := func() (*store.Store, error) { return store.Open(data) }
		kept, err := disk.Await(ctx, open, func(late *store.Store) { _ = late.Close() })
		if err != nil {
			return stopped(ctx, err)
		}
		s.Config.Store = &timedStore{kept, w.saved} // Run closes it
	}
	n, err := newNode(ctx, s)
	if err != nil {
		return err
	}
	defer r.attach(ctx, n)()
	go func() {
		obey(ctx, os.Stdin, n)
		cancel()
	}()
	var watching sync.WaitGroup
	watching.Go(func() { w.follow(ctx, n, s.Config.Name) })
	err = run(ctx, s, n, log)
	watching.Wait() // the node has stopped, so this ends
	return err
}

// obey does what the lines say that the fleet writes, until there are no more.
func obey(ctx context.Context, in io.Reader, n *cluster.Node) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if lines.Text() == fleet.Campaign {
			_ = n.Campaign(ctx) // its error is that the node stops, which Run returns
		}
	}
}

// watched turns what happens at a node into events.
type watched struct {
	stream *fleet.Stream
	clock  fleet.Stamper
	others map[string]bool // kinds of messages that are not of elections
	addr   string          // set by listen, before the node answers
}

func (w *watched) listen(addr string) (net.Listener, error) {
	l, err := cluster.Listen(addr)
	if err == nil {
		w.addr = l.Addr().String()
	}
	return l, err
}

// follow reports that the node is ready, and then whom it follows.
func (w *watched) follow(ctx context.Context, n *cluster.Node, name string) {
	status, err := n.Status(context.WithoutCancel(ctx)) // answered by the loop, so it runs
	if err != nil {
		return
	}
	w.stream.Emit(fleet.Event{
		At: fleet.Now(), What: fleet.Ready, ID: status.Node.String(), Name: name, Addr: w.addr,
		Pid: os.Getpid(), Clock: fleet.Clock,
	})
	for s := range n.Watch(context.WithoutCancel(ctx)) {
		if s.At.IsZero() {
			continue // before the first election
		}
		e := fleet.Event{At: w.clock.Stamp(s.At), What: fleet.Leader, Epoch: uint64(s.Leader.Epoch), Leads: s.Leads}
		if s.Known() {
			e.Peer, e.Name = s.Leader.ID.String(), s.Leader.Name
		}
		w.stream.Emit(e)
	}
}

// see runs on the node's loop.
func (w *watched) see(e trace.Event) {
	switch e.Kind {
	case trace.Suspect, trace.Trust:
		what := fleet.Suspect
		if e.Kind == trace.Trust {
			what = fleet.Trust
		}
		w.stream.Emit(fleet.Event{At: fleet.Now(), What: what, Peer: e.Peer.String()})
	case trace.View:
		w.stream.Emit(fleet.Event{At: fleet.Now(), What: fleet.View})
	case trace.Send, trace.Deliver:
		what := fleet.Send
		if e.Kind == trace.Deliver {
			what = fleet.Deliver
		}
		if _, repeat := algo.Open(e.Message); repeat {
			return
		}
		if kind := e.Message.Kind(); !w.others[kind] {
			w.stream.Emit(fleet.Event{At: fleet.Now(), What: what, Kind: kind, Peer: e.Peer.String()})
		}
	}
}

func (w *watched) saved(took time.Duration) {
	w.stream.Emit(fleet.Event{At: fleet.Now(), What: fleet.Save, Took: int64(took)})
}

// timedStore is a store that reports how long each save takes.
type timedStore struct {
	cluster.Store
	saved func(took time.Duration)
}

func (t *timedStore) Save(state []byte) error {
	begin := time.Now()
	err := t.Store.Save(state)
	t.saved(time.Since(begin))
	return err
}
