// Command fleet runs five members in one process, which elect by an algorithm that this
// module does not have: it stands in the registry beside the others. The leader is
// stopped, and comes back.
//
//	go run ./examples/omega/fleet
//	go run ./examples/omega/fleet -algorithm vote    by one that it has
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/examples/omega"
)

// registry is what the module has, and one more.
func registry() algo.Registry {
	r := builtin.Registry()
	r["omega"] = omega.Factory
	return r
}

func main() {
	algorithm := flag.String("algorithm", "omega", "bully, omega, ring or vote")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := failover(ctx, os.Stdout, *algorithm); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// failover starts five members, stops their leader and starts it again.
func failover(ctx context.Context, out io.Writer, algorithm string) (err error) {
	data, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	f := &fleet{out: out, algorithm: algorithm, data: data, members: make(map[string]*member), news: make(chan news)}
	defer func() { err = errors.Join(err, f.stop(), os.RemoveAll(data)) }()
	if f.addresses, err = free(5); err != nil {
		return err
	}
	f.say("five members elect by %s", algorithm)
	for i := range f.addresses {
		if err := f.start(i + 1); err != nil {
			return err
		}
	}
	leader, err := f.agree(ctx)
	if err != nil {
		return err
	}
	f.say("%s is stopped", leader.name)
	if err := f.stop(leader); err != nil {
		return err
	}
	if _, err := f.agree(ctx); err != nil {
		return err
	}
	f.say("%s comes back", leader.name)
	if err := f.start(leader.number); err != nil {
		return err
	}
	_, err = f.agree(ctx)
	return err
}

// say begins a part of the story.
func (f *fleet) say(format string, args ...any) {
	fmt.Fprintf(f.out, format+"\n", args...)
	f.since = time.Now()
}

// fleet is some members in this process.
type fleet struct {
	out       io.Writer
	algorithm string
	data      string
	addresses []string
	members   map[string]*member // that run
	news      chan news
	since     time.Time // when the part of the story began
}

type member struct {
	number int
	name   string
	stop   context.CancelFunc
	done   chan error         // the end of Run
	follow cluster.Leadership // whom it follows
}

// news is what one member knows of the leadership.
type news struct {
	from  *member
	state cluster.State
}

// start runs a member.
func (f *fleet) start(number int) error {
	name := fmt.Sprintf("n%d", number)
	node, err := cluster.New(cluster.Config{
		Name: name, Listen: f.addresses[number-1], Members: f.addresses, Data: filepath.Join(f.data, name),
		Algorithm: f.algorithm, Priority: number,
	}, cluster.WithRegistry(registry()))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &member{number: number, name: name, stop: stop, done: make(chan error, 1)}
	f.members[name] = m
	go func() { m.done <- node.Run(ctx) }()
	go func() {
		for state := range node.Watch(ctx) {
			select {
			case f.news <- news{m, state}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// stop ends these members, or all.
func (f *fleet) stop(members ...*member) (err error) {
	if len(members) == 0 {
		for _, m := range f.members {
			members = append(members, m)
		}
	}
	for _, m := range members {
		delete(f.members, m.name)
		m.stop()
		err = errors.Join(err, <-m.done)
	}
	return err
}

// agree shows what the members know until all follow one of them.
func (f *fleet) agree(ctx context.Context) (leader *member, err error) {
	for {
		select {
		case n := <-f.news:
			n.from.follow = n.state.Leader
			if said := describe(n.state); said != "" {
				after := n.state.At.Sub(f.since)
				fmt.Fprintf(f.out, "%8.1f ms  %s %s\n", float64(after)/float64(time.Millisecond), n.from.name, said)
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if leader := f.leader(); leader != nil {
			return leader, nil
		}
	}
}

func describe(s cluster.State) string {
	switch {
	case s.Leads:
		return fmt.Sprintf("leads in epoch %d", s.Leader.Epoch)
	case s.Known():
		return fmt.Sprintf("follows %s in epoch %d", s.Leader.Name, s.Leader.Epoch)
	}
	return ""
}

// leader is whom all members that run follow, if it is one of them.
func (f *fleet) leader() *member {
	var common *cluster.Leadership
	for _, m := range f.members {
		if common == nil {
			common = &m.follow
		}
		if m.follow != *common {
			return nil
		}
	}
	return f.members[common.Name]
}

// free returns addresses of this machine that nobody listens on.
func free(count int) (addresses []string, err error) {
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // when all are found, so that none is found twice
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}
