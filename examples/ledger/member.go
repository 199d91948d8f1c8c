package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/etcd"
	"github.com/elect-go/elect/fence"
)

const (
	pace   = 10 * time.Millisecond // time between two entries
	onePut = 20 * time.Second      // maximum time of a write
)

// writer is a member of the cluster with its Lead callback. It reads commands (cut, heal, hold,
// go) and prints its actions, each with its token.
type writer struct {
	ledger  *ledger
	network *network
	mu      sync.Mutex
	hold    chan struct{} // closed by go; nil: it writes
}

func member(args []string) error {
	var s settings
	flags := flag.NewFlagSet("member", flag.ExitOnError)
	s.flags(flags)
	name := flags.String("name", "", "its `name`")
	listen := flags.String("listen", "", "its `address`")
	members := flags.String("members", "", "all `addresses`, with commas")
	data := flags.String("data", "", "its `folder`")
	v := embedded
	flags.StringVar((*string)(&v), "version", string(v), "its `version`, with -etcd")
	_ = flags.Parse(args)
	l, err := openLedger(s)
	if err != nil {
		return err
	}
	w := &writer{ledger: l, network: &network{links: make(map[*link]bool)}}
	node := cluster.Config{
		Name: *name, Listen: *listen, Members: strings.Split(*members, ","), DataDir: *data, SecretFile: os.Getenv("ELECT_SECRET_FILE"),
		Algorithm: builtin.Lookup(s.algorithm), Lease: lease.Off, // with a lease, an older leader seldom writes
		Network: cluster.Network{Listen: w.network.listen, Dial: w.network.dial},
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop() // the driver has ended
		defer w.set(nil)
		w.obey()
	}()
	if s.etcd != "" {
		node.Lease, node.Timing = lease.Options{}, algo.WAN() // at most one works; and a busy machine does not end the lease
		return v.run(ctx, node, etcd.Config{Endpoints: strings.Split(s.etcd, ","), Prefix: "/ledger", Name: *name, TTL: 5}, w.work)
	}
	return embedded.run(ctx, node, etcd.Config{}, w.work)
}

func (w *writer) obey() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lines.Text() {
		case "cut":
			w.network.cut()
		case "heal":
			w.network.heal()
		case "hold":
			w.set(make(chan struct{}))
		case "go":
			w.set(nil)
		}
	}
}

// set makes the writer wait until hold is closed, or continue if hold is nil.
func (w *writer) set(hold chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold != nil {
		close(w.hold)
	}
	w.hold = hold
}

func (w *writer) holds() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hold
}

// work writes entries while this member leads, as far as it knows.
func (w *writer) work(ctx context.Context, l elector.Leadership) error {
	say := func(what string) { fmt.Println(what, l.Token) }
	say("leads")
	defer say("ended")
	for ctx.Err() == nil {
		// The member has checked that it leads, and is about to write. It does not notice a later
		// change: a call of the database may take long, or the process may be stopped.
		if hold := w.holds(); hold != nil {
			say("holds")
			<-hold
		}
		put, cancel := context.WithTimeout(context.Background(), onePut)
		if end, bounded := l.Deadline(); bounded { // an uncommitted write is then rolled back
			cancel()
			put, cancel = context.WithDeadline(context.Background(), end)
		}
		err := w.ledger.write(put, l)
		cancel()
		switch {
		case err == nil:
			say("wrote")
		case errors.Is(err, fence.ErrStale):
			say("refused")
		default:
			fmt.Fprintf(os.Stderr, "%s: %v\n", l.Name, err)
			say("failed")
		}
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
	return context.Cause(ctx)
}
