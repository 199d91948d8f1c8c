package algosim

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/algo"
)

// Walk describes random runs of small clusters with faults: crashes, also between the effects of an
// event; restarts, detected or not; false suspicions; lost, duplicated and reordered messages;
// partitions, some in one direction; pauses; resignations; campaigns. Then the faults end: messages
// arrive in time, and the detector is right. From there on the running nodes must come to agree.
// After that, only periodic messages may be sent, and nothing may be announced.
//
// At all times epochs must not decrease, each followed leader must have announced itself, and the
// claims of the algorithm must hold.
type Walk struct {
	// New returns the cluster. The options of its algorithm may be random.
	New func(random *rand.Rand, view algo.View) *Cluster
	// T is the maximum message time without faults, by default [T].
	T time.Duration
	// RecoveryTime is the maximum time from the end of the faults until agreement, in multiples of
	// T. The default is 100.
	RecoveryTime int
}

// Faults are injected for faultPeriod. After agreement, nothing may happen for quietPeriod. Both are
// multiples of Walk.T.
const faultPeriod, quietPeriod = 60, 60

// Run performs one walk with the choices of chooser. The returned cluster has the violation.
func (w Walk) Run(chooser Chooser, tracing bool) *Cluster {
	f := newFaultInjector(chooser, w, tracing)
	c := f.Cluster
	if chooser.IntN(2) == 0 {
		for i := range f.all {
			f.start(i + 1)
		}
	}
	c.Later(0, f.injectFault)
	c.Run(faultPeriod * f.maxDelay)
	f.heal()
	c.Run(time.Duration(cmp.Or(w.RecoveryTime, 100)) * f.maxDelay)
	if reason := c.Disagreement(); reason != "" && c.Violation == "" {
		c.ReportViolation("after the recovery: %s", reason)
	}
	c.Reset()
	c.Run(quietPeriod * f.maxDelay)
	if sum := Total(c.Sent); (sum != 0 || c.Announcements != 0) && c.Violation == "" && CanElect(c.View, c.Spec.Claims, c.followStates()) {
		c.ReportViolation("after the agreement: %d messages, %d announcements", sum, c.Announcements)
	}
	return c
}

// FindViolation performs a walk and returns its violation with a transcript, or an empty text. newChooser
// returns the same Chooser at each call.
func (w Walk) FindViolation(newChooser func() Chooser) string {
	if violation := w.Run(newChooser(), false).Violation; violation != "" {
		return violation + "\n" + w.Run(newChooser(), true).Transcript()
	}
	return ""
}

// Check fails the test if one of count walks finds a violation.
func (w Walk) Check(t TestingT, count int) {
	t.Helper()
	for seed := range uint64(count) {
		if violation := w.FindViolation(func() Chooser { return Seeded(seed) }); violation != "" {
			t.Errorf("seed %d: %s", seed, violation)
			return
		}
	}
}

// faultInjector injects the faults of a walk.
type faultInjector struct {
	*Cluster
	chooser   Chooser
	maxDelay  time.Duration
	all       []algo.Member
	resigning bool // members resign and return
	partition int  // a set of nodes; messages across its border are lost
	oneWay    bool // only messages into the set are lost
}

func newFaultInjector(random Chooser, w Walk, tracing bool) *faultInjector {
	size := 3 + random.IntN(3)
	f := &faultInjector{chooser: random, all: Members(size), maxDelay: cmp.Or(w.T, T)}
	if random.IntN(2) == 0 {
		for i := range f.all {
			f.all[i].Priority = random.IntN(3)
		}
	}
	f.Cluster = w.New(random.Rand, algo.NewView(1, f.all...))
	f.Tracing = tracing
	for m := range f.View.All() {
		f.Logf("%s has priority %d", m.Name, m.Priority)
	}
	loss, maxFaultyDelay := random.Float64()*0.5, time.Duration(1+random.IntN(8))*f.maxDelay
	f.resigning = random.IntN(3) == 0
	if random.IntN(4) == 0 {
		loss = 0
	}
	f.Delay = func(from, to int, _ algo.Message) (time.Duration, bool) {
		return random.upTo(maxFaultyDelay), !f.isCut(from, to) && random.Float64() >= loss
	}
	if random.IntN(4) == 0 {
		double := random.Float64() * 0.5
		f.Duplicate = func() bool { return random.Float64() < double }
	}
	f.Pick = func(shortest, longest time.Duration) time.Duration {
		return shortest + time.Duration(random.Int64N(int64(longest-shortest)+1))
	}
	return f
}

// isCut reports whether messages from one node to another are lost.
func (f *faultInjector) isCut(from, to int) bool {
	inFrom, inTo := f.partition>>from&1, f.partition>>to&1
	if f.oneWay {
		return inFrom == 0 && inTo == 1
	}
	return inFrom != inTo
}

func (f *faultInjector) randomNode() int { return 1 + f.chooser.IntN(len(f.all)) }

func (f *faultInjector) start(i int) {
	if f.Node(i).Machine == nil {
		if f.chooser.IntN(3) == 0 {
			f.Node(i).CrashAfter = 1 + f.chooser.IntN(5)
		}
		f.Start(i)
	}
}

// injectFault injects a random fault, and schedules the next one.
func (f *faultInjector) injectFault() {
	if f.Now >= faultPeriod*f.maxDelay {
		return
	}
	i := f.randomNode()
	switch nd := f.Node(i); f.chooser.IntN(14) { // restarts and suspicions are most frequent
	case 0:
		f.Crash(i)
	case 1, 2, 3:
		if nd.Machine != nil && f.chooser.IntN(2) == 0 {
			f.Crash(i) // and restarts before it is detected
		}
		f.start(i)
	case 4:
		if nd.Machine != nil {
			nd.CrashAfter = 1 + f.chooser.IntN(5)
		}
	case 5, 6, 7:
		f.Suspect(f.randomNode(), i)
	case 8:
		f.Trust(f.randomNode(), i)
	case 9:
		f.Campaign(i)
	case 10:
		f.partition = f.chooser.IntN(1 << (len(f.all) + 1))
		f.oneWay = f.chooser.IntN(3) == 0
		f.Logf("partition %b, one way: %v", f.partition, f.oneWay)
	case 11:
		if f.resigning {
			f.all[i-1].Eligible = !f.all[i-1].Eligible
			f.View = algo.NewView(f.View.Version()+1, f.all...)
			f.Logf("n%d is eligible: %v", i, f.all[i-1].Eligible)
			f.Reconfigure(f.View, i, f.randomNode(), f.randomNode())
		}
	case 12:
		f.Pause(i)
	case 13:
		f.Resume(i)
	}
	f.Later(f.chooser.upTo(3*f.maxDelay), f.injectFault)
}

// heal ends all faults: no node is paused, at shortest one is running, messages arrive in time, and
// the detector is right.
func (f *faultInjector) heal() {
	f.Logf("healed")
	f.Duplicate = nil
	f.Delay = func(int, int, algo.Message) (time.Duration, bool) { return f.chooser.upTo(f.maxDelay), true }
	for _, nd := range f.nodes {
		nd.CrashAfter = 0
	}
	for i := range f.nodes {
		f.Resume(i + 1)
	}
	if len(f.Live()) == 0 {
		f.Start(f.randomNode())
	}
	f.DetectionTime = f.maxDelay / 2
	for i := range f.nodes {
		f.Reconfigure(f.View, i+1)
		f.Report(i + 1)
	}
}
