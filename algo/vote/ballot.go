package vote

import (
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
)

// ballots is the rule by which rounds follow each other, votes are cast and votes are
// counted. It is all that differs between the algorithm as it is published and as it is
// by default. Neither state machine asks which of the two it runs with.
type ballots interface {
	// begin opens an election that this server itself calls for.
	begin()
	// take says what an Elect of that round means to an elector in that state, and
	// takes the round over where it does.
	take(round algo.Epoch, state electorState) verdict
	// cast is this server's vote in the round that is on; nobody, when there is nobody
	// to vote for.
	cast(choice algo.NodeID)
	// counts reports whether a vote of that round goes on the tally of a candidate,
	// who may be leading already.
	counts(round algo.Epoch, leading bool) bool
	// obsolete reports whether a Lead of that term is to be ignored by who knows of a
	// leader in the term known.
	obsolete(term, known algo.Epoch) bool
	// decide says that somebody leads in that term. It reports whether the voting that
	// may be on ends with it.
	decide(term algo.Epoch) bool
	// rest is the timer of an elector that has voted.
	rest(o Options) (t algo.Timer, least, most time.Duration)
	// stable is what must survive a crash: the round, and the vote in it.
	stable() algo.Stable
	clone() ballots
}

// verdict says what an Elect means to an elector.
type verdict uint8

const (
	// join: record the claim and enter voting.
	join verdict = iota
	// record: record the claim.
	record
	// settled: this server has done its part in that round.
	settled
	// late: that round is over.
	late
)

// published is the rule of the source. The round of its messages is the term to be
// elected: the latest that is known, and one more when its leader is known. A server
// votes in it as often as there are Elects.
type published struct {
	round   algo.Epoch
	decided bool // the leader of that term is known, or may be
	// known is the latest term of which a leader was followed, before a restart too.
	known algo.Epoch
}

// recall goes on after a restart. What survives it is not of the source, which has no
// restarts: without it, the epochs that this server announces could go back.
func recall(saved algo.Stable) *published {
	b := &published{round: saved.Epoch, decided: true, known: saved.Epoch}
	if saved.Extra != "" {
		known, err := strconv.ParseUint(saved.Extra, 10, 64)
		if err == nil {
			b.known = min(algo.Epoch(known), saved.Epoch)
		}
	}
	return b
}

func (b *published) begin() {
	if b.decided {
		b.round, b.decided = b.round+1, false
	}
}

// "WATCHING: rcv ELECT: record claim; enter VOTING state", "VOTING: rcv ELECT: record claim".
func (b *published) take(round algo.Epoch, state electorState) verdict {
	if state == watching {
		b.begin()
	}
	if round > b.round {
		b.round, b.decided = round, false
	}
	if state == voting {
		return record
	}
	return join
}

func (b *published) cast(algo.NodeID) {}

// "FOLLOWER: rcv VOTE: record on the tally board". A LEADER does not.
func (b *published) counts(round algo.Epoch, leading bool) bool {
	return !leading && round >= b.round
}

func (b *published) obsolete(term, known algo.Epoch) bool { return term < max(known, b.known) }

// The source has no "rcv LEAD" among the actions of VOTING.
func (b *published) decide(term algo.Epoch) bool {
	if term >= b.round {
		b.round, b.decided = term, true
	}
	b.known = max(b.known, term)
	return false
}

// "enter WATCHING state; initial: set timer to 5 * HBT".
func (b *published) rest(o Options) (algo.Timer, time.Duration, time.Duration) {
	return timerWatch, 5 * o.HeartbeatInterval, 5 * o.HeartbeatInterval
}

func (b *published) stable() algo.Stable {
	saved := algo.Stable{Epoch: b.round}
	if b.known < b.round {
		saved.Extra = strconv.FormatUint(uint64(b.known), 10)
	}
	return saved
}

func (b *published) clone() ballots {
	clone := *b
	return &clone
}
