package transport

import (
	"bytes"
	"time"
)

// rule is what becomes of a second connection of one id.
type rule uint8

const (
	probeFirst rule = iota // ask the first connection whether it is alive
	takeOver               // the newcomer carries the session on, the first is closed politely
	yield                  // the newcomer is closed politely
	replace                // the session ends, the newcomer begins one
	refuse                 // two processes claim one id
)

// proof is what a probe has shown about the first connection.
type proof uint8

const (
	unproven proof = iota
	alive
	silent
)

// judge decides between the first connection of a peer and a newcomer. Both nodes come
// to the same end, whatever the order in which they see the two: of simultaneous
// dials both keep that of the lower id; of two dials by one side its dialler keeps
// the one that it has and the other side asks which.
func judge(self ID, first, newcomer Peer, age, window time.Duration, shown proof) rule {
	same := first.Incarnation == newcomer.Incarnation
	switch {
	case shown == silent && same:
		return takeOver
	case shown == silent:
		return replace
	case shown == alive && same:
		return yield
	case shown == alive:
		return refuse
	case !same:
		return probeFirst
	case first.Dialed != newcomer.Dialed:
		if age >= window {
			return probeFirst
		}
		if newcomer.Dialed == (bytes.Compare(self[:], newcomer.ID[:]) < 0) {
			return takeOver
		}
		return yield
	case newcomer.Dialed:
		if age < window {
			return yield
		}
	case age < 2*window:
		// Twice: while the dialler still keeps its first one, this side must not
		// already prefer the newest.
		return probeFirst
	}
	return takeOver
}
