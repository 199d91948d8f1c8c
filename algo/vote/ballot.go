package vote

import (
	"strconv"
	"time"

	"github.com/elect-go/elect/algo"
)

// ballot is the rule by which rounds follow each other, votes are cast and votes are
// counted. It is all that differs between the algorithm as it is published and as it is
// by default. Neither state machine asks which of the two it runs with.
type ballot interface {
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
	clone() ballot
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

// strict is the rule by default.
//
// ◆ Rounds are numbered, a server has one vote in a round, saved before it is sent, and
// the winner's term is its round. Two majorities of one round would share a voter, who
// voted once; so no term has two leaders, whatever is lost, late or restarted.
type strict struct {
	round algo.Epoch
	vote  algo.NodeID // nobody until it is cast
	// closed: this server votes no more in this round.
	closed bool
	// decided: the leader of this round is known, or was, or may have been before a
	// restart. Nobody leads twice in one term.
	decided bool
}

// restore goes on after a restart. A vote that was kept is not cast again, and the
// round is not led: it may have been led before the crash. Without a vote this server
// has promised nothing in the round yet.
func restore(saved algo.Stable) *strict {
	voted := !saved.Vote.IsZero()
	return &strict{round: saved.Epoch, vote: saved.Vote, closed: voted, decided: voted}
}

// ◆ A timeout takes the saved round + 1: in the old one this server, and those who
// heard it, have no vote left.
func (b *strict) begin() { b.open(b.round + 1) }

func (b *strict) open(round algo.Epoch) { *b = strict{round: round} }

// ◆ A newer round is adopted, or servers that differ would never elect together. In the
// same round there are claims as long as there is a vote to cast.
func (b *strict) take(round algo.Epoch, state electorState) verdict {
	switch {
	case round < b.round:
		return late
	case round > b.round:
		b.open(round)
		return join
	case state == voting:
		return record
	case b.closed:
		return settled
	default:
		return join // restarted in a round in which it had not voted yet
	}
}

// Who found nobody to vote for has its vote still, for when the others elect it.
func (b *strict) cast(choice algo.NodeID) {
	if !b.closed || b.vote.IsZero() && !b.decided {
		b.vote, b.closed = choice, true
	}
}

// ◆ A vote of any round but the saved one is ignored.
func (b *strict) counts(round algo.Epoch, _ bool) bool { return round == b.round && !b.decided }

// ◆ A Lead of a term below the saved round is obsolete: this server has done with that
// leader, and it may be dead.
func (b *strict) obsolete(term, _ algo.Epoch) bool { return term < b.round }

func (b *strict) decide(term algo.Epoch) bool {
	if term > b.round {
		b.open(term)
	}
	b.closed, b.decided = true, true
	return true
}

// ◆ The pause is random, so that two candidates cannot tie for ever.
func (b *strict) rest(o Options) (algo.Timer, time.Duration, time.Duration) {
	return timerPause, o.Pause, 2 * o.Pause
}

func (b *strict) stable() algo.Stable { return algo.Stable{Epoch: b.round, Vote: b.vote} }

func (b *strict) clone() ballot {
	clone := *b
	return &clone
}

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

func (b *published) clone() ballot {
	clone := *b
	return &clone
}
