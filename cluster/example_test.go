package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/cluster/clustertest"
)

// A program works only while it leads. With a lease at most one node works at any moment. The only member of a cluster
// leads at once.
func ExampleRun() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	ctx, stop := context.WithCancel(context.Background())
	config := cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Bootstrap: true, DataDir: data}
	err = cluster.Run(ctx, config, func(ctx context.Context, l cluster.Leadership) error {
		fmt.Println(l.Name, "leads in epoch", l.Epoch)
		stop()       // as SIGTERM does in a real program
		<-ctx.Done() // ctx ends with the leadership
		return nil
	})
	fmt.Println(err)
	// Output:
	// n1 leads in epoch 1
	// <nil>
}

// A program that creates its node itself can also ask it for the leader.
func ExampleNode_Lead() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Bootstrap: true, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	err = node.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
		fmt.Println(l.Name, "leads in epoch", l.Epoch)
		stop()       // as SIGTERM does in a real program
		<-ctx.Done() // ctx ends with the leadership
		return nil
	})
	fmt.Println(err)
	fmt.Println(<-stopped)
	_, known := node.Leader()
	fmt.Println("a leader is known:", known)
	// Output:
	// n1 leads in epoch 1
	// context canceled
	// <nil>
	// a leader is known: false
}

// The cause of the end of a leadership decides what the program may still do. It is also the context.Cause of the Lead
// callback's context.
func ExampleState() {
	next := func(s cluster.State) string {
		var deposed *cluster.DeposedError
		switch {
		case errors.Is(s.Cause, cluster.ErrReelected):
			return "start again: another leader may have worked in between"
		case errors.As(s.Cause, &deposed):
			return "leave the work to " + deposed.By.Name
		case errors.Is(s.Cause, cluster.ErrNoMajority), errors.Is(s.Cause, cluster.ErrNoLeader):
			return "wait: others may lead where this node cannot see it"
		case errors.Is(s.Cause, cluster.ErrResigned):
			return "hand over: this was asked for"
		case errors.Is(s.Cause, cluster.ErrStopped), errors.Is(s.Cause, cluster.ErrRemoved), errors.Is(s.Cause, cluster.ErrListenerClosed):
			return "stop: this node takes no part any more"
		case errors.Is(s.Cause, cluster.ErrSaveFailed):
			return "stop: the disk is full, or broken"
		}
		return "work"
	}
	for _, cause := range []error{
		&cluster.DeposedError{By: cluster.Leadership{Name: "n2", Epoch: 8}}, cluster.ErrReelected, cluster.ErrNoMajority, cluster.ErrResigned, nil,
	} {
		fmt.Println(next(cluster.State{Cause: cause}))
	}
	fmt.Println(errors.Is(&cluster.DeposedError{}, cluster.ErrDeposed))
	// Output:
	// leave the work to n2
	// start again: another leader may have worked in between
	// wait: others may lead where this node cannot see it
	// hand over: this was asked for
	// work
	// true
}

// With KeepLeading the node leads on after the Lead callback has returned. So a callback may only prepare a service.
func ExampleNode_Lead_keep() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	fmt.Println(node.WaitLeader(ctx))
	prepare := func(_ context.Context, l cluster.Leadership) error {
		fmt.Println(l.ID == node.ID(), l.Valid())
		return nil
	}
	fmt.Println(node.Lead(ctx, prepare, cluster.KeepLeading))
	fmt.Println(node.IsLeader())
	stop()
	fmt.Println(<-stopped)
	// Output:
	// <nil>
	// true true
	// <nil>
	// true
	// <nil>
}

// With a lease at most one node works at any moment. The context of the Lead callback ends with the lease. Before a
// step that must not be interrupted, the callback checks the remaining time.
func ExampleLeadership_Deadline() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Bootstrap: true, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	_ = node.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
		end, bounded := l.Deadline()
		fmt.Println(bounded, end.IsZero())
		if time.Until(end) < 100*time.Millisecond {
			fmt.Println("too little time for a long step")
		}
		stop()
		<-ctx.Done()
		if errors.Is(context.Cause(ctx), cluster.ErrLeaseExpired) {
			fmt.Println("no majority was heard in time")
		}
		return nil
	})
	fmt.Println(<-stopped)
	// Output:
	// true false
	// <nil>
}

// The error of Run says how the run of a node ended, and what the operator can do.
func ExampleNode_Run() {
	after := func(err error) string {
		switch {
		case err == nil:
			return "it was stopped, or has left"
		case errors.Is(err, cluster.ErrRemoved):
			return "empty the data directory to have it join as a new member"
		case errors.Is(err, cluster.ErrJoinRejected):
			return "change its configuration: " + err.Error()
		case errors.Is(err, cluster.ErrAlreadyStarted):
			return "make a new node to run again"
		}
		return "start it again"
	}
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	fmt.Println(after(node.Run(ctx)))
	fmt.Println(after(node.Run(ctx)))
	fmt.Println(errors.Is(node.Campaign(context.Background()), cluster.ErrStopped))
	// Output:
	// it was stopped, or has left
	// make a new node to run again
	// true
}

// A program follows the leader across elections, for example to connect to it.
func ExampleNode_Watch() {
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	for s := range node.Watch(ctx) {
		if s.HasLeader() { // false during an election
			fmt.Println(s.Leader.Name, "leads in epoch", s.Leader.Epoch)
			stop() // the states end with ctx
		}
	}
	fmt.Println(<-stopped)
	// Output:
	// n1 leads in epoch 1
	// <nil>
}

// A leader hands over before the maintenance of its machine. It is not elected again for an hour.
func ExampleNode_Resign() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	network, stopped := clustertest.NewNetwork(), make(chan error)
	start := func(name string, priority int) *cluster.Node {
		node, err := cluster.New(cluster.Config{
			Name: name, Listen: name + ":7400", Members: []string{"n1:7400", "n2:7400"}, Priority: priority,
			Lease: lease.Off, Network: network.Process(name).Cluster(),
		})
		if err != nil {
			panic(err)
		}
		go func() { stopped <- node.Run(ctx) }()
		return node
	}
	node, other := start("n1", 2), start("n2", 1)
	for s := range other.Watch(ctx) {
		if s.Leader.Name == "n1" {
			break
		}
	}
	fmt.Println(node.Resign(ctx, time.Hour)) // returns when another node leads
	leader, _ := node.Leader()
	fmt.Println(leader.Name, "leads")
	stop()
	fmt.Println(<-stopped, <-stopped)
	// Output:
	// <nil>
	// n2 leads
	// <nil> <nil>
}

// With a quorum any member may request a change of the members while the cluster runs.
func ExampleNode_Remove() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Bootstrap: true, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	for _, err := range []error{node.Remove(ctx, algo.NodeID{1}), node.Leave(ctx)} {
		reasons := []error{cluster.ErrUnknownMember, cluster.ErrLastMember, cluster.ErrNoEligibleMember, cluster.ErrLeft}
		i := slices.IndexFunc(reasons, func(reason error) bool { return errors.Is(err, reason) })
		fmt.Println(reasons[i])
	}
	fmt.Println(node.SetPriority(ctx, 5), node.Members()[0].Priority)
	fmt.Println(node.Resign(ctx, time.Minute))
	stop()
	fmt.Println(<-stopped)
	// Output:
	// there is no such member
	// it is the last member: stop it, and delete its data
	// <nil> 5
	// cluster: resign: no other member may lead
	// <nil>
}

// Without a quorum a list defines the members. The operator changes the list on each node.
func ExampleNode_SetMembers() {
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	fmt.Println(node.SetMembers(ctx, []string{"127.0.0.1:0", "10.0.0.2:7400"}))
	fmt.Println(errors.Is(node.Leave(ctx), cluster.ErrNoQuorum)) // instead, change the lists of the others, and stop this node
	stop()
	fmt.Println(<-stopped)
	// Output:
	// <nil>
	// true
	// <nil>
}

// A program may resolve member names without DNS, for example with a service registry.
func ExampleNetwork() {
	registry := map[string][]string{"elect.internal": {"10.0.0.1", "10.0.0.2", "10.0.0.3"}}
	lookup := func(_ context.Context, host string) ([]string, error) {
		if found, ok := registry[host]; ok {
			return found, nil
		}
		return nil, fmt.Errorf("%s is not registered", host)
	}
	_, err := cluster.New(cluster.Config{
		Name: "n4", Listen: "10.0.0.4:7400", Insecure: true, DataDir: "data", Join: []string{"elect.internal:7400"},
		Network: cluster.Network{Lookup: lookup},
	})
	fmt.Println(err)
	// Output:
	// <nil>
}

// A follower finds the leader's service by the metadata of the leader.
func ExampleLeadership_Meta() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Meta: map[string]string{"http": "10.0.0.1:8080"}, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	for s := range node.Watch(ctx) {
		switch at := s.Leader.Meta()["http"]; at {
		case "10.0.0.1:8080":
			fmt.Println("requests go to", at)
			err = node.SetMeta(ctx, map[string]string{"http": "10.0.0.1:9090"}) // the service has moved
		case "10.0.0.1:9090":
			fmt.Println("and now to", at, err)
			stop()
		}
	}
	fmt.Println(<-stopped)
	// Output:
	// requests go to 10.0.0.1:8080
	// and now to 10.0.0.1:9090 <nil>
	// <nil>
}
