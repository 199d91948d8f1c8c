package lab

import (
	"math/rand/v2"
	"time"

	"github.com/elect-go/elect/algo"
)

// disturber is what goes wrong on a walk.
type disturber struct {
	*Cluster
	random    *rand.Rand
	all       []algo.Member
	loss      float64       // of how many messages
	double    float64       // how many arrive twice
	slow      time.Duration // how many T a message may take
	resigning bool          // members resign and come back
	healed    bool
	partition int  // a set of nodes that do not hear the others
	oneWay    bool // the others hear them
}

func newDisturber(random *rand.Rand, w Walk, tracing bool) *disturber {
	size := 3 + random.IntN(3)
	d := &disturber{random: random, all: Members(size)}
	if random.IntN(2) == 0 {
		for i := range d.all {
			d.all[i].Priority = random.IntN(3)
		}
	}
	d.Cluster = New(w.Spec(random), algo.NewView(1, size, d.all...))
	d.Tracing, d.Hushed, d.Resumes = tracing, w.Hushed, w.Resumes
	for m := range d.View.All() {
		d.Logf("%s has priority %d", m.Name, m.Priority)
	}
	d.loss = random.Float64() * 0.5
	d.slow = time.Duration(1 + random.IntN(8))
	d.resigning = random.IntN(3) == 0
	if random.IntN(4) == 0 {
		d.loss = 0
	}
	if random.IntN(4) == 0 {
		d.double = random.Float64() * 0.5
	}
	d.Delay = func(from, to int, _ algo.Message) (time.Duration, bool) {
		if d.healed {
			return time.Duration(1 + random.Int64N(int64(T))), true
		}
		return time.Duration(1 + random.Int64N(int64(d.slow*T))), !d.cut(from, to) && random.Float64() >= d.loss
	}
	d.Doubled = func() bool { return d.double > 0 && !d.healed && random.Float64() < d.double }
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

func (d *disturber) someone() int { return 1 + d.random.IntN(len(d.all)) }

func (d *disturber) start(i int) {
	if d.Node(i).Machine == nil {
		if d.random.IntN(3) == 0 {
			d.Node(i).DieIn = 1 + d.random.IntN(5)
		}
		d.Start(i)
	}
}

// disturb does something to somebody, and goes on.
func (d *disturber) disturb() {
	if d.healed {
		return
	}
	i := d.someone()
	switch nd := d.Node(i); d.random.IntN(14) {
	case 0:
		d.Crash(i)
	case 1, 2, 3:
		if nd.Machine != nil && d.random.IntN(2) == 0 {
			d.Crash(i) // and back before anybody can tell
		}
		d.start(i)
	case 4:
		if nd.Machine != nil {
			nd.DieIn = 1 + d.random.IntN(5)
		}
	case 5, 6, 7:
		d.Suspect(d.someone(), i)
	case 8:
		d.Trust(d.someone(), i)
	case 9:
		d.Campaign(i)
	case 10:
		d.partition = d.random.IntN(1 << (len(d.all) + 1))
		d.oneWay = d.random.IntN(3) == 0
		d.Logf("partition %b, one way: %v", d.partition, d.oneWay)
	case 11:
		if d.resigning {
			d.all[i-1].Eligible = !d.all[i-1].Eligible
			d.View = algo.NewView(d.View.Number()+1, len(d.all), d.all...)
			d.Logf("n%d may lead: %v", i, d.all[i-1].Eligible)
			d.Reconfigure(d.View, i, d.someone(), d.someone())
		}
	case 12:
		d.Pause(i)
	case 13:
		d.Resume(i)
	}
	d.Later(time.Duration(1+d.random.Int64N(int64(3*T))), d.disturb)
}

// heal ends all that goes wrong: somebody runs, nobody is paused, and from now on
// messages arrive in time and the detector is right.
func (d *disturber) heal() {
	d.healed = true
	d.Logf("healed")
	for _, nd := range d.nodes {
		nd.DieIn = 0
	}
	for i := range d.nodes {
		d.Resume(i + 1)
	}
	if len(d.Live()) == 0 {
		d.Start(d.someone())
	}
	d.Detect = T / 2
	for i := range d.nodes {
		d.Reconfigure(d.View, i+1)
		d.Report(i + 1)
	}
}
