package explore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/explore"
)

// Bully needs no quorum. One false suspicion and two timeouts that are too short cause two leaders in one epoch. No
// shorter run does.
func ExampleRun_twoLeaders() {
	const T = 10 * time.Millisecond
	spec, err := bully.New(bully.Options{AnswerTimeout: 2 * T, CoordinatorTimeout: 4 * T, AnnounceInterval: 10 * T, SkipSuspected: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := explore.Run(context.Background(), explore.Options{
		Spec: spec, Nodes: 3, StartAgreed: true, FalseSuspicions: 1,
		Properties: []algo.Property{algo.OneLeaderPerEpoch},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range report.Violations {
		fmt.Print(v.Scenario)
	}

	// Output:
	// mode choice
	// algorithm bully
	// option announce_interval=100ms
	// option answer_timeout=20ms
	// option coordinator_timeout=40ms
	// option head_start=0s
	// option skip_suspected=true
	// start-agreed
	// property one-leader-per-epoch
	// cluster 3
	// > all have started and follow n3 in epoch 1
	// suspect n1 n3 wrongly
	// > note: suspects its leader n3
	// > saves epoch 2
	// > sends election epoch=1 to n2
	// > follows no leader in epoch 1
	// expire n1 answer
	// > note: no answer in time
	// > leads in epoch 2
	// deliver n1 n2 election epoch=1
	// > sends answer epoch=1 to n1
	// > sends election epoch=1 to n3
	// expire n2 answer
	// > note: no answer in time
	// > saves epoch 2
	// > sends coordinator epoch=2 leader=n2 to n1
	// > leads in epoch 2
	// > violation: one-leader-per-epoch: n1 and n2 both lead in epoch 2
}

// The error of a replay states why a step is impossible.
func ExampleScenario_Replay() {
	build := func(string, []algo.Setting) (algo.Spec, error) {
		return bully.New(bully.Defaults(algo.Timing{RoundTrip: 20 * time.Millisecond, Heartbeat: 10 * time.Millisecond}))
	}
	s, err := explore.ParseScenario("late", "mode choice\nalgorithm bully\nstart-agreed\ncluster 2\nexpire n1 answer", build)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.Replay()
	var unreadable *explore.UnreadableError
	switch {
	case errors.Is(err, explore.ErrImpossible):
		fmt.Println("a step is impossible")
	case errors.As(err, &unreadable):
		fmt.Println("the state of the algorithm contains a", unreadable.Type)
	}
	// Output:
	// a step is impossible
}

// A resource that stores the highest token may reject a new leader of bully with a lower token. A node may also follow
// the two leaders in that order.
func ExampleRun_tokens() {
	spec, err := bully.New(bully.Defaults(algo.LAN()))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := explore.Run(context.Background(), explore.Options{
		Spec: spec, Nodes: 3, StartAgreed: true, Crashes: 1, Epochs: 3,
		Properties: []algo.Property{explore.NodeTokens, explore.ResourceTokens},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range report.Violations {
		fmt.Printf("%s: %s\n", v.Property, v.What)
	}

	// Output:
	// resource-tokens: a resource hears of n2 in epoch 2 after n3 in epoch 2
	// node-tokens: n1 follows n2 in epoch 2 after n3 in epoch 2
}
