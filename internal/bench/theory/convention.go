package theory

import "slices"

// Convention is what the processes know and do, and what is counted of it.
type Convention struct {
	Name string
	Text string

	// Options of the algorithm that differ from its defaults, as name and value.
	Options [][2]string
	// Altered says what differs from the algorithm of this module; empty if nothing does.
	Altered string

	// Counting is what is counted of the messages sent.
	Counting Counting
	// Quiet: the turnaround lasts until the last message has arrived, and not only until
	// the last process knows.
	Quiet bool
}

// Counting is what counts as a message.
type Counting string

// What counts as a message.
const (
	// Each message to each process counts once.
	Each Counting = "each message to each process"
	// OnlyElection leaves out how the winner becomes known, and answers.
	OnlyElection Counting = "election messages only"
	// Broadcast takes what goes to everybody for one message, as on a medium that all
	// share, and counts the vote of a server for itself.
	Broadcast Counting = "a broadcast is one message"
)

// Count turns messages that were sent, by kind, into what the convention counts. It is
// for numbers that were measured: n is the number of members.
func (c Counting) Count(sent map[string]uint64, n int) map[string]uint64 {
	counted := make(map[string]uint64, len(sent))
	for kind, number := range sent {
		switch {
		case c == OnlyElection && kind != "election":
		case c == Broadcast && kind == "vote":
			counted[kind] = number + 1
		case c == Broadcast:
			counted[kind] = number / uint64(max(n-1, 1))
		default:
			counted[kind] = number
		}
	}
	return counted
}

// Conventions returns those of the rows of an algorithm, each once, in their order.
func Conventions(algorithm string) []Convention {
	var all []Convention
	for _, r := range Rows() {
		if r.Algorithm == algorithm && !slices.ContainsFunc(all, func(c Convention) bool { return c.Name == r.Convention.Name }) {
			all = append(all, r.Convention)
		}
	}
	return all
}

// Of bully.
var (
	bullyTextbook = Convention{
		Name: "textbook", Text: "only timers end a wait: 2T for an Answer, 4T for a Coordinator", Counting: Each,
	}
	bullyDetector = Convention{
		Name: "detector", Text: "the detectors know who has crashed; those below leave those above a head start of T",
		Counting: Each,
	}
	bullyNoHeadStart = Convention{
		Name: "detector, no head start", Text: "the detectors know who has crashed, and all ask at once",
		Options: [][2]string{{"head_start", "0s"}}, Counting: Each,
	}
	bullyToAll = Convention{
		Name: "textbook, coordinator to all", Text: "as textbook; the winner tells all others, and not only those below",
		Counting: Each, Altered: "Coordinator goes to those above, too; all of them have crashed",
	}
	bullyElections = Convention{
		Name: "textbook, election messages", Text: "as textbook; only Election is counted", Counting: OnlyElection,
	}
)

// Of ring.
var (
	ringDetector = Convention{
		Name: "detector", Text: "a process knows that its successor has crashed when it starts, or sends to it",
		Counting: Each,
	}
	ringElections = Convention{
		Name: "election messages", Text: "only Election is counted: it is over when the token is back at the highest",
		Counting: OnlyElection,
	}
	ringQuiet = Convention{
		Name: "until quiet", Text: "the time runs until the last Elected is back at the leader, which says nothing new to it",
		Counting: Each, Quiet: true,
	}
)

// Of vote.
var (
	voteDetector = Convention{
		Name: "detector", Text: "a server votes as soon as all have claimed whom its detector does not suspect",
		Counting: Each,
	}
	voteWindow = Convention{
		Name: "window", Text: "a server votes at the end of its window of RTT",
		Options: [][2]string{{"early_close", "false"}}, Counting: Each,
	}
	voteTextbook = Convention{
		Name: "textbook", Text: "a server votes RTT after it has claimed; nobody knows who has crashed; the smallest ID is the highest rank",
		Counting: Each,
	}
	voteBroadcast = Convention{
		Name: "textbook, broadcast medium", Text: "as textbook; what all hear is one message, and a vote for oneself is one",
		Counting: Broadcast,
	}
)
