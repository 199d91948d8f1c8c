package fd

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// Fact is how a dial failed.
type Fact uint8

// The ways in which a dial fails.
const (
	Refused    Fact = iota + 1 // nobody listens at the address
	Broken                     // accepted, then reset or closed before the hello: dying, or just starting
	Unanswered                 // no answer in time, no route, or refused for another reason
)

// evidence is what connections and dials say of a peer. It beats waiting.
type evidence struct {
	dead string // why nobody is there; empty without

	connected   bool
	upAt        time.Duration // of the last connection
	incarnation uint64        // of the process that was last connected; 0 for none yet
	tries       int           // dials since the last connection
	broken      int           // dials in a row that were accepted and led nowhere
	brief       int           // connections in a row, to one process, that hardly stood
	redialAt    time.Duration
}

// Down says that the connection to a peer ended. After a polite end there is
// nothing to find out.
func (d *Detector) Down(now time.Duration, id algo.NodeID, polite bool) {
	p := d.peer(id)
	if now-p.upAt < d.timing.MaxRedial {
		p.brief++
	} else {
		p.brief = 0
	}
	// Something may end each connection, with a peer that lives: to dial at once, for
	// ever, would keep two nodes busy with nothing else.
	p.connected, p.tries, p.broken, p.renewAt = false, max(0, p.brief-instantRedials), 0, never
	p.leaseEnd = never // who still watches asks anew on the next connection
	p.mark(now)
	if !polite && p.dead == "" && !d.timing.NoEvidence && p.tries == 0 {
		d.dial(p)
	} else if p.monitored {
		d.redial(now, p)
	}
}

// DialFailed says how a dial to a peer ended, whoever asked for it.
func (d *Detector) DialFailed(now time.Duration, id algo.NodeID, fact Fact) {
	p := d.peer(id)
	if p.connected {
		return // the peer dialled us meanwhile
	}
	if fact == Broken && !d.timing.NoEvidence && p.broken < instantRedials {
		p.broken++
		d.dial(p)
		return
	}
	if fact != Broken {
		p.broken = 0
	}
	if fact == Refused && !d.timing.NoEvidence {
		d.out.Changes = append(d.out.Changes, Change{Peer: id, Died: true, Reason: Refusal})
		d.isDead(now, p, Refusal)
	}
	if p.monitored {
		d.redial(now, p)
	}
}

// Goodbye says that a peer stops of its own will. That ends with its next frame on a connection that
// stands: nobody is dead for ever who lives.
func (d *Detector) Goodbye(now time.Duration, id algo.NodeID) {
	d.isDead(now, d.peer(id), Farewell)
}

// isDead records evidence that nobody is there, whether or not p is watched now.
func (d *Detector) isDead(now time.Duration, p *peer, why string) {
	p.dead = why
	p.open = never // to suspect it for its silence was no mistake
	if p.monitored && !p.suspected {
		d.suspect(now, p, why)
	}
	p.mark(now)
}

func (d *Detector) dial(p *peer) {
	p.tries++
	p.redialAt = never
	d.out.Dials = append(d.out.Dials, p.id)
}

// redial dials p later: the more often it failed, the later.
func (d *Detector) redial(now time.Duration, p *peer) {
	wait := d.timing.MinRedial
	for i := 1; i < p.tries && wait < d.timing.MaxRedial; i++ {
		wait *= 2
	}
	p.redialAt = now + min(wait, d.timing.MaxRedial)
}
