package member

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/algosim"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// Library is a library that can be measured.
type Library struct {
	Name string
	// Leads is set if the library elects leaders. A library without leaders only reports failed members.
	Leads bool
	// Modules are the paths of the modules with reported versions.
	Modules []string
	// Settings describes the settings and the defaults on which the speed depends.
	Settings func(Timing) []string
	// Beat returns the heartbeat interval.
	Beat func(Timing) time.Duration

	start func(*member, Timing) error
}

// Libraries returns the libraries that can be measured.
func Libraries() []Library {
	return []Library{hashicorpRaft, etcdRaft, etcdRaftAsEtcd, memberlistLibrary}
}

// Lookup finds a library by its name.
func Lookup(name string) (Library, bool) {
	all := Libraries()
	i := slices.IndexFunc(all, func(l Library) bool { return l.Name == name })
	if i < 0 {
		return Library{}, false
	}
	return all[i], true
}

// member is one process of a cluster.
type member struct {
	name    string   // n1, n2, …
	listen  string   // its own address
	data    string   // its folder
	members []string // all addresses; the first is that of n1
	events  events
}

// Run runs a member as a process. args are the flags of elect node that proccluster sets, and the flags
// that select the library. Run returns when in ends, because then the parent is gone. It also
// returns when ctx ends or the member fails.
func Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	m, library, timing, err := parse(args)
	if err != nil {
		return err
	}
	self, stream := idOf(m.name), proccluster.NewStream(out)
	m.events.emit = func(e trace.Event) {
		e.Node = self
		stream.Event(e)
	}
	if err := os.MkdirAll(m.data, 0o700); err != nil {
		return err
	}
	if err := library.start(m, timing); err != nil {
		return fmt.Errorf("start %s: %w", library.Name, err)
	}
	m.events.emit(trace.Event{At: time.Duration(proccluster.Now()), Kind: trace.Ready, Format: m.listen})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, in)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil // the goroutines of the library end with the process
}

func parse(args []string) (*member, Library, Timing, error) {
	m := &member{}
	var library Library
	var timing Timing
	flags := flag.NewFlagSet("member", flag.ContinueOnError)
	flags.StringVar(&m.name, "name", "", "")
	flags.StringVar(&m.listen, "listen", "", "")
	flags.StringVar(&m.data, "data-dir", "", "")
	flags.Func("members", "", func(addr string) error { m.members = append(m.members, addr); return nil })
	flags.Func("library", "", func(name string) (err error) {
		var ok bool
		if library, ok = Lookup(name); !ok {
			err = errors.New("there is no such library")
		}
		return err
	})
	flags.Var(&timing, "timing", "")
	flags.String("trace", "", "") // flags of elect node without a meaning here
	flags.Bool("stdin", false, "")
	flags.String("priority", "", "")
	flags.String("log-level", "", "")
	if len(args) == 0 || args[0] != "node" {
		return nil, library, timing, fmt.Errorf("member: the arguments are %q, want node and its flags", args)
	}
	err := flags.Parse(args[1:])
	if err == nil && (library.start == nil || m.data == "" || m.number(m.listen) == 0 || m.nameOf(m.listen) != m.name) {
		err = fmt.Errorf("member: %q wants a library, a data directory and its own address where its name stands among the members %q", m.name, m.members)
	}
	return m, library, timing, err
}

// number returns the place of an address among the members, from 1; 0 if it is missing.
func (m *member) number(addr string) int { return slices.Index(m.members, addr) + 1 }

func (m *member) nameOf(addr string) string { return name(m.number(addr)) }

func name(number int) string { return "n" + strconv.Itoa(number) }

// idOf returns the ID of a member.
func idOf(name string) algo.NodeID { return algosim.ID(proccluster.Number(name)) }

// others calls visit with the number and address of each other member.
func (m *member) others(visit func(number int, addr string)) {
	for i, addr := range m.members {
		if addr != m.listen {
			visit(i+1, addr)
		}
	}
}

// events reports the events of a member. Its methods may be called from any goroutine.
type events struct {
	emit func(trace.Event)

	mu     sync.Mutex
	leader string
	term   uint64
}

// follow reports the leader of the member, or "" for none, unless it has already reported it.
// If a leader is lost without a new one, follow reports a suspicion, too. Concurrent calls report
// in the order in which they read.
func (e *events) follow(read func() (leader string, term uint64)) {
	at := time.Duration(proccluster.Now())
	e.mu.Lock()
	defer e.mu.Unlock()
	leader, term := read()
	if leader == e.leader && (term == e.term || leader == "") {
		return
	}
	if leader == "" {
		e.emit(trace.Event{At: at, Kind: trace.Suspect, Peer: idOf(e.leader)})
	}
	e.leader, e.term = leader, term
	led := algo.Leader{Epoch: algo.Epoch(term)}
	if leader != "" {
		led.ID = idOf(leader)
	}
	e.emit(trace.Event{At: at, Kind: trace.Announce, Leader: led})
}

// dead reports that a peer is considered dead, or alive again.
func (e *events) dead(peer string, dead bool) {
	kind := trace.Trust
	if dead {
		kind = trace.Suspect
	}
	e.emit(trace.Event{At: time.Duration(proccluster.Now()), Kind: kind, Peer: idOf(peer)})
}
