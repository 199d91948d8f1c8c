package explore

import (
	"slices"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/host"
)

// All returns all properties that can be asked for. algo.Contract is always looked for.
// algo.Agreement is asked for as the package comment says.
func All() []algo.Property {
	return []algo.Property{algo.OneLeaderPerEpoch, algo.EpochsGrow, algo.Durable, algo.NoPhantom, algo.Agreement}
}

// Claimed returns the properties that an algorithm promises: those of the contract,
// and what it claims.
func Claimed(claims algo.Claims) []algo.Property {
	properties := All()
	if !claims.OneLeaderPerEpoch {
		properties = properties[1:]
	}
	return properties
}

// history is who has announced itself so far.
type history struct {
	led   host.Past
	print host.Fingerprint
}

func (sp *space) history(led host.Past) uint32 {
	print := host.FingerprintOf(led)
	return number(sp, &sp.histories, print, history{led, print})
}

// announcement is made after a history.
type announcement struct {
	history uint32
	node    int
	leader  algo.Leader
}

// announced is what an announcement makes of the history, and what it breaks.
type announced struct {
	history uint32
	broken  *host.Breach
}

// announce returns what becomes of a history when a node announces a leader. It is computed
// once.
func (sp *space) announce(before uint32, node int, l algo.Leader) announced {
	after := announced{history: before}
	if !sp.tracksLed || l.Vacant() {
		return after
	}
	key := announcement{before, node, l}
	if known, ok := sp.announced[key]; ok {
		return known
	}
	led := sp.histories[before].led
	if l.ID == sp.ids[node] {
		led = slices.Clone(led)
		after.broken = led.Lead(l)
		after.history = sp.history(led)
	} else {
		after.broken = led.Follow(sp.ids[node], l)
	}
	sp.announced[key] = after
	return after
}
