package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	textbook "github.com/elect-go/elect/algo/textbook/bully"
	"github.com/elect-go/elect/sim"
)

// The worst case of textbook bully: the highest of five nodes has crashed, the lowest suspects it, and no node knows
// which other nodes run.
func ExampleRun() {
	const T = 10 * time.Millisecond
	spec, err := textbook.Factory(algo.Timing{RoundTrip: 2 * T, Heartbeat: 12 * T}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := sim.Run(context.Background(), sim.Options{
		Spec: spec, Nodes: 5, Crashed: 1, Initiators: []int{1}, Delay: sim.Fixed(T),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("rank %d leads in epoch %d\n", r.Leader, r.Epoch)
	fmt.Printf("%d messages sent, %d delivered: %v\n", r.Sent, r.Delivered, r.Kinds)
	fmt.Printf("decided after %v T, known to all after %v T\n", r.Decided, r.Turnaround)
	// Output:
	// rank 4 leads in epoch 6
	// 19 messages sent, 15 delivered: map[answer:6 coordinator:3 election:10]
	// decided after 3 T, known to all after 4 T
}

func ExampleScenario() {
	scenario, err := sim.ParseScenario("failover", `
		detector perfect
		cluster 3
		run 1s
		crash n3
		run 1s
		leader n2
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	build := func(_ string, t algo.Timing, _ []algo.Setting) (algo.Spec, error) {
		return bully.New(bully.Defaults(t))
	}
	if _, err := scenario.Run(context.Background(), sim.ScenarioOptions{Build: build, Output: os.Stdout}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// detector perfect
	// cluster 3
	// run 1s
	// >        2ms  n3 leads in epoch 1
	// >        3ms  n1 follows n3 in epoch 1
	// >        3ms  n2 follows n3 in epoch 1
	// crash n3
	// >         1s  n3 is down
	// run 1s
	// >     1.001s  n1 suspects n3: it crashed
	// >     1.001s  n1 suspects its leader n3
	// >     1.001s  n1 follows no leader
	// >     1.001s  n2 suspects n3: it crashed
	// >     1.001s  n2 suspects its leader n3
	// >     1.001s  n2 follows no leader
	// >     1.001s  n2 leads in epoch 2
	// >     1.002s  n1 follows n2 in epoch 2
	// leader n2
}

// A test injects faults and reads the result. A fault that is not possible is an error. The run is also a scenario.
func ExampleWorld() {
	spec, err := bully.New(bully.Defaults(algo.LAN()))
	if err != nil {
		fmt.Println(err)
		return
	}
	w := sim.New(sim.Config{Spec: spec, Delay: sim.Fixed(time.Millisecond), Seed: 7})
	if err := w.Cluster(3); err != nil {
		fmt.Println(err)
		return
	}
	w.Run(time.Second)
	leader, _, _ := w.Leader()
	for range 2 {
		if err := w.Crash(leader); err != nil {
			fmt.Println(err)
		}
	}
	w.Run(time.Second)
	fmt.Println(w.Opinions())
	_, done, _ := strings.Cut(w.Scenario(), "seed 7\n")
	fmt.Print(done)
	// Output:
	// sim: crash n3: it is down
	// n1 follows n2 in epoch 2; n2 leads in epoch 2; n3 is down
	// cluster 3
	// run 1s
	// crash n3
	// run 1s
}

// The property of a violation shows where to look: at the algorithm, or at the membership.
func ExampleViolation() {
	about := func(v sim.Violation) string {
		switch v.Property {
		case sim.OneConfig, sim.OneConfigPerID, sim.RemovedStays:
			return "the membership"
		case sim.NewestEpochLeads:
			return "the epochs"
		case sim.Budget:
			return "the number of messages"
		}
		return "the algorithm"
	}
	known := map[string]bool{sim.KnownUsedEpoch: true, sim.KnownDeadEpoch: true}
	for _, v := range []sim.Violation{
		{Property: algo.Agreement, Text: "n1 follows n2, n3 follows no leader"},
		{Property: sim.NewestEpochLeads, Text: "n4 leads in epoch 2, and n3 did in epoch 3", Known: sim.KnownDeadEpoch},
	} {
		fmt.Println(about(v), "is broken; known:", known[v.Known])
	}
	_, err := sim.ParseDelay("soon")
	fmt.Println(errors.Is(err, sim.ErrDelay))
	// Output:
	// the algorithm is broken; known: false
	// the epochs is broken; known: true
	// true
}
