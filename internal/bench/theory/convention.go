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
	Each Counting = "each message"
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
