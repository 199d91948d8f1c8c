package bully

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
)

var (
	walks    = flag.Int("walks", 20_000, "how many random walks TestRandomWalks takes")
	walkSeed = flag.Uint64("walkseed", 1, "the seed of the first random walk")
)

const (
	chaos = 60 * T  // how long a walk is disturbed
	calm  = 100 * T // how long it may take to settle then
	quiet = 60 * T  // how long nothing may happen after that
)

// TestRandomWalks disturbs small clusters at random: crashes, also between a save
// and what should follow it; restarts, seen by the detector or not; wrong suspicions;
// losses; messages that overtake each other; members that resign and come back; calls
// for elections. Then messages arrive in time and the detector is right.
// From there on the highest live member must lead, all must know it, and no election
// may follow. At all times epochs must not go back, and whoever is followed must have
// announced itself.
func TestRandomWalks(t *testing.T) {
	count := *walks
	if testing.Short() {
		count = min(count, 1000)
	}
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprintf("%d of %d", part+1, parts), func(t *testing.T) {
			t.Parallel()
			for i := part; i < count; i += parts {
				seed := *walkSeed + uint64(i)
				if why, _ := walk(seeded(seed), nil, false); why != "" {
					_, c := walk(seeded(seed), nil, true)
					t.Fatalf("seed %d: %s\n%s", seed, why, c.story())
				}
			}
		})
	}
}

// TestWalksAreRepeatable: the same seed gives the same walk, so that a seed that is
// printed on a failure is worth something, and the algorithm is deterministic.
func TestWalksAreRepeatable(t *testing.T) {
	for seed := range uint64(50) {
		_, first := walk(seeded(seed), nil, true)
		_, second := walk(seeded(seed), nil, true)
		if first.story() != second.story() {
			t.Fatalf("seed %d: two walks", seed)
		}
	}
}

// TestWalksFindWhatIsTakenOut: random walks are worth what they find. Each of these
// rules, taken out, breaks a walk within a few hundred.
func TestWalksFindWhatIsTakenOut(t *testing.T) {
	for name, rule := range map[string]mutant{
		"adoptsNothing": adoptsNothing, "followsTheOld": followsTheOld, "followsTheLower": followsTheLower,
		"followsTheSuspected": followsTheSuspected, "repeatsNothing": repeatsNothing,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(1000) {
				if why := walkOf(seed, rule); why != "" {
					t.Logf("seed %d: %s", seed, why)
					return
				}
			}
			t.Error("1000 walks found nothing")
		})
	}
}

// A mutant from which nothing is taken out breaks nothing: what the others break is
// their own.
func TestAMutantWithAllRulesIsTheAlgorithm(t *testing.T) {
	for seed := range uint64(500) {
		if why := walkOf(seed, mutant{}); why != "" {
			t.Fatalf("seed %d: %s", seed, why)
		}
	}
}

// walkOf says how a walk of a mutant fails, also by a panic of the machine.
func walkOf(seed uint64, rule mutant) (why string) {
	defer func() {
		if broken := recover(); broken != nil {
			why = fmt.Sprint(broken)
		}
	}()
	why, _ = walk(seeded(seed), without(rule), false)
	return why
}

// FuzzWalk lets the fuzzer choose what happens on a walk.
func FuzzWalk(f *testing.F) {
	f.Add([]byte("a walk"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		if why, _ := walk(&chosen{choices, rand.NewPCG(1, 1)}, nil, false); why != "" {
			_, c := walk(&chosen{choices, rand.NewPCG(1, 1)}, nil, true)
			t.Fatalf("%s\n%s", why, c.story())
		}
	})
}

// chosen is a source of numbers that were chosen, as far as they go.
type chosen struct {
	choices []byte
	then    rand.Source
}

func (c *chosen) Uint64() uint64 {
	if len(c.choices) == 0 {
		return c.then.Uint64()
	}
	choice := c.choices[0]
	c.choices = c.choices[1:]
	return uint64(choice)<<56 | c.then.Uint64()>>8
}

func seeded(seed uint64) rand.Source { return rand.NewPCG(seed, 0) }

// walk takes a walk and says what it broke, or nothing. alter, if not nil, changes
// the algorithm.
func walk(source rand.Source, alter func(algo.NodeID) algo.Algorithm, tracing bool) (string, *cluster) {
	random := rand.New(source)
	size := 3 + random.IntN(3)
	all := members(size)
	if random.IntN(2) == 0 {
		for i := range all {
			all[i].Priority = random.IntN(3)
		}
	}
	options := Defaults(timing)
	options.SkipSuspected = random.IntN(4) != 0
	c := newCluster(options, algo.NewView(1, size, all...))
	c.tracing = tracing
	if alter != nil {
		c.spec.New = alter
	}
	for m := range c.view.All() {
		c.logf("%s has priority %d", m.Name, m.Priority)
	}
	var (
		loss      = random.Float64() * 0.5
		slow      = time.Duration(1 + random.IntN(8)) // how many T a message may take
		resigning = random.IntN(3) == 0
		healed    = false
		someone   = func() int { return 1 + random.IntN(size) }
		partition = 0 // a set of nodes that hear only each other
	)
	if random.IntN(4) == 0 {
		loss = 0
	}
	c.delay = func(from, to *node, _ algo.Message) (time.Duration, bool) {
		if healed {
			return time.Duration(1 + random.Int64N(int64(T))), true
		}
		cut := partition>>num(from.id)&1 != partition>>num(to.id)&1
		return time.Duration(1 + random.Int64N(int64(slow*T))), !cut && random.Float64() >= loss
	}
	start := func(i int) {
		if c.node(n(i)).machine == nil {
			if random.IntN(3) == 0 {
				c.node(n(i)).dieIn = 1 + random.IntN(5)
			}
			c.start(i)
		}
	}
	var disturb func()
	disturb = func() {
		if healed {
			return
		}
		i := someone()
		switch nd := c.node(n(i)); random.IntN(12) {
		case 0:
			c.crash(i)
		case 1, 2, 3:
			if nd.machine != nil && random.IntN(2) == 0 {
				c.crash(i) // and back before anybody can tell
			}
			start(i)
		case 4:
			if nd.machine != nil {
				nd.dieIn = 1 + random.IntN(5)
			}
		case 5, 6, 7:
			c.suspect(someone(), i)
		case 8:
			c.trust(someone(), i)
		case 9:
			c.campaign(i)
		case 10:
			partition = random.IntN(1 << (size + 1))
			c.logf("partition %b", partition)
		case 11:
			if resigning {
				all[i-1].Eligible = !all[i-1].Eligible
				c.view = algo.NewView(c.view.Number()+1, size, all...)
				c.logf("n%d may lead: %v", i, all[i-1].Eligible)
				c.reconfigure(c.view, i, someone(), someone())
			}
		}
		c.after(time.Duration(1+random.Int64N(int64(3*T))), true, disturb)
	}
	if random.IntN(2) == 0 {
		for i := range size {
			start(i + 1)
		}
	}
	c.after(0, true, disturb)
	c.run(chaos)

	healed = true
	c.logf("healed")
	if len(c.live()) == 0 {
		c.start(someone())
	}
	for _, nd := range c.nodes {
		nd.dieIn = 0
	}
	c.detect = T / 2
	for i, nd := range c.nodes {
		c.reconfigure(c.view, i+1)
		c.report(nd.id)
	}
	c.run(calm)
	if why := c.agreed(); why != "" && c.broken == "" {
		c.breaks("after the calm: %s", why)
	}
	c.reset()
	c.run(quiet)
	if sum := total(c.sent); (sum != 0 || c.changes != 0) && c.broken == "" && eligibleLive(c) {
		c.breaks("in the quiet: %d messages, %d announcements", sum, c.changes)
	}
	return c.broken, c
}

// eligibleLive reports whether anybody who runs may lead.
func eligibleLive(c *cluster) bool {
	for _, i := range c.live() {
		if m, _ := c.view.Member(n(i)); m.Eligible {
			return true
		}
	}
	return false
}
