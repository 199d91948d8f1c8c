package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/operator"
)

// live is a cluster of live nodes on the loopback, n1 to nN, wherever they run. Of nodes
// whose algorithm heeds priorities the last is the highest.
type live interface {
	// addrs are where the nodes that run listen, by name.
	addrs() map[string]string
	// campaign has a node call for an election.
	campaign(ctx context.Context, name string) error
	// crash kills the leader.
	crash(ctx context.Context) error
	// settle returns when all that run agree on a leadership of an epoch above that one, and
	// nothing happens any more: its epoch.
	settle(ctx context.Context, above uint64) (epoch uint64, err error)
	// restore has who crashed come back, and all follow one leader.
	restore(ctx context.Context) error
	close() error
}

// errNoCrash says that what runs in this process cannot be killed.
var errNoCrash = errors.New("bench: a node in this process cannot be killed")

// counters returns those of the nodes that run, by node.
func counters(ctx context.Context, l live) (map[string]cluster.Status, error) {
	addrs := l.addrs()
	var mu sync.Mutex
	var asking sync.WaitGroup
	var mistakes []error
	all := make(map[string]cluster.Status)
	for name, addr := range addrs {
		asking.Go(func() {
			status, err := operator.Client{}.Status(ctx, addr)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("bench: ask %s: %w", name, err))
			}
			all[name] = status
		})
	}
	asking.Wait()
	return all, errors.Join(mistakes...)
}

// Counted is what nodes counted, of all of them together: messages of an election by
// kind, repeats left out, and frames that were dropped.
type Counted struct {
	Sent, Received Kinds
	Dropped        int
}

// Kinds are numbers of messages by kind.
type Kinds map[string]int

// Total is how many there are.
func (k Kinds) Total() int {
	total := 0
	for _, n := range k {
		total += n
	}
	return total
}

// between subtracts the counters of before from those of after, of the nodes that are in
// both.
func between(before, after map[string]cluster.Status, kinds []string) Counted {
	c := Counted{Sent: make(Kinds), Received: make(Kinds)}
	for name := range maps.Keys(after) {
		was, still := before[name]
		if !still {
			continue
		}
		more := func(counter string) int {
			return int(after[name].Counters[counter]) - int(was.Counters[counter])
		}
		for _, kind := range kinds {
			if n := more("sent." + kind); n != 0 {
				c.Sent[kind] += n
			}
			if n := more("received." + kind); n != 0 {
				c.Received[kind] += n
			}
		}
		c.Dropped += more("dropped")
	}
	return c
}

// number is that of a node by its name, n1 being 1.
func number(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "n")) // names are those of nodeName
	return n
}
