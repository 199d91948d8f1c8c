package algosim

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/algo"
)

// Walk is how to disturb small clusters at random: crashes, also between a save and
// what should follow it; restarts, seen by the detector or not; wrong suspicions;
// losses, doubled messages and messages that overtake each other; partitions, some of
// them one way; processes that pause; members that resign and come back; calls for
// elections. Then messages arrive in time and the detector is right. From there on the
// live must come to agree, and no message but repeats, and no announcement, may follow.
// At all times epochs must not go back, whoever is followed must have announced itself,
// and what is claimed must hold.
type Walk struct {
	// New returns the cluster, whose algorithm may have random options.
	New func(random *rand.Rand, view algo.View) *Cluster
	// T is the longest time of a message when nothing is wrong, [T] if zero.
	T time.Duration
	// Calm is how long it may take to settle, in T: 100 if zero.
	RecoveryTime int
}

// How long a walk is disturbed, and how long nothing may happen after the calm, in T.
const chaos, quiet = 60, 60

// Take takes one walk, as a driver decides. What it broke is in Broken of the cluster.
func (w Walk) Run(driver Chooser, tracing bool) *Cluster {
	d := newDisturber(driver, w, tracing)
	c := d.Cluster
	if driver.IntN(2) == 0 {
		for i := range d.all {
			d.start(i + 1)
		}
	}
	c.Later(0, d.disturb)
	c.Run(chaos * d.t)
	d.heal()
	c.Run(time.Duration(cmp.Or(w.RecoveryTime, 100)) * d.t)
	if why := c.Disagreement(); why != "" && c.Violation == "" {
		c.ReportViolation("after the calm: %s", why)
	}
	c.Reset()
	c.Run(quiet * d.t)
	if sum := Total(c.Sent); (sum != 0 || c.Announcements != 0) && c.Violation == "" && CanElect(c.View, c.Spec.Claims, c.opinions()) {
		c.ReportViolation("in the quiet: %d messages, %d announcements", sum, c.Announcements)
	}
	return c
}

// Broken takes a walk and says what it broke, and below it how that came about, or nothing.
// choose returns the same driver each time.
func (w Walk) FindViolation(choose func() Chooser) string {
	if what := w.Run(choose(), false).Violation; what != "" {
		return what + "\n" + w.Run(choose(), true).Transcript()
	}
	return ""
}

// Want fails the test if one of so many walks breaks something.
func (w Walk) Check(t TestingT, count int) {
	t.Helper()
	for seed := range uint64(count) {
		if why := w.FindViolation(func() Chooser { return Seeded(seed) }); why != "" {
			t.Errorf("seed %d: %s", seed, why)
			return
		}
	}
}

// disturber is what goes wrong on a walk.
type disturber struct {
	*Cluster
	driver    Chooser
	t         time.Duration
	all       []algo.Member
	resigning bool // members resign and come back
	partition int  // a set of nodes that do not hear the others
	oneWay    bool // the others hear them
}

func newDisturber(random Chooser, w Walk, tracing bool) *disturber {
	size := 3 + random.IntN(3)
	d := &disturber{driver: random, all: Members(size), t: cmp.Or(w.T, T)}
	if random.IntN(2) == 0 {
		for i := range d.all {
			d.all[i].Priority = random.IntN(3)
		}
	}
	d.Cluster = w.New(random.Rand, algo.NewView(1, d.all...))
	d.Tracing = tracing
	for m := range d.View.All() {
		d.Logf("%s has priority %d", m.Name, m.Priority)
	}
	loss, slow := random.Float64()*0.5, time.Duration(1+random.IntN(8))*d.t
	d.resigning = random.IntN(3) == 0
	if random.IntN(4) == 0 {
		loss = 0
	}
	d.Delay = func(from, to int, _ algo.Message) (time.Duration, bool) {
		return random.within(slow), !d.cut(from, to) && random.Float64() >= loss
	}
	if random.IntN(4) == 0 {
		double := random.Float64() * 0.5
		d.Duplicate = func() bool { return random.Float64() < double }
	}
	d.Pick = func(least, most time.Duration) time.Duration {
		return least + time.Duration(random.Int64N(int64(most-least)+1))
	}
	return d
}

// cut reports whether nothing gets from one to another.
func (d *disturber) cut(from, to int) bool {
	inFrom, inTo := d.partition>>from&1, d.partition>>to&1
	if d.oneWay {
		return inFrom == 0 && inTo == 1
	}
	return inFrom != inTo
}

func (d *disturber) someone() int { return 1 + d.driver.IntN(len(d.all)) }

func (d *disturber) start(i int) {
	if d.Node(i).Machine == nil {
		if d.driver.IntN(3) == 0 {
			d.Node(i).CrashAfter = 1 + d.driver.IntN(5)
		}
		d.Start(i)
	}
}

// disturb does something to somebody, and goes on until the calm.
func (d *disturber) disturb() {
	if d.Now >= chaos*d.t {
		return
	}
	i := d.someone()
	switch nd := d.Node(i); d.driver.IntN(14) { // restarts and suspicions are more frequent
	case 0:
		d.Crash(i)
	case 1, 2, 3:
		if nd.Machine != nil && d.driver.IntN(2) == 0 {
			d.Crash(i) // and back before anybody can tell
		}
		d.start(i)
	case 4:
		if nd.Machine != nil {
			nd.CrashAfter = 1 + d.driver.IntN(5)
		}
	case 5, 6, 7:
		d.Suspect(d.someone(), i)
	case 8:
		d.Trust(d.someone(), i)
	case 9:
		d.Campaign(i)
	case 10:
		d.partition = d.driver.IntN(1 << (len(d.all) + 1))
		d.oneWay = d.driver.IntN(3) == 0
		d.Logf("partition %b, one way: %v", d.partition, d.oneWay)
	case 11:
		if d.resigning {
			d.all[i-1].Eligible = !d.all[i-1].Eligible
			d.View = algo.NewView(d.View.Number()+1, d.all...)
			d.Logf("n%d may lead: %v", i, d.all[i-1].Eligible)
			d.Reconfigure(d.View, i, d.someone(), d.someone())
		}
	case 12:
		d.Pause(i)
	case 13:
		d.Resume(i)
	}
	d.Later(d.driver.within(3*d.t), d.disturb)
}

// heal ends all that goes wrong: somebody runs, nobody is paused, and from now on
// messages arrive in time and the detector is right.
func (d *disturber) heal() {
	d.Logf("healed")
	d.Duplicate = nil
	d.Delay = func(int, int, algo.Message) (time.Duration, bool) { return d.driver.within(d.t), true }
	for _, nd := range d.nodes {
		nd.CrashAfter = 0
	}
	for i := range d.nodes {
		d.Resume(i + 1)
	}
	if len(d.Live()) == 0 {
		d.Start(d.someone())
	}
	d.DetectionTime = d.t / 2
	for i := range d.nodes {
		d.Reconfigure(d.View, i+1)
		d.Report(i + 1)
	}
}
