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

func (m *model) history(led host.Past) uint32 {
	print := host.FingerprintOf(led)
	return number(m, &m.histories, print, history{led, print})
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
func (m *model) announce(before uint32, node int, l algo.Leader) announced {
	after := announced{history: before}
	if !m.tracksLed || l.Vacant() {
		return after
	}
	key := announcement{before, node, l}
	if known, ok := m.announced[key]; ok {
		return known
	}
	led := m.histories[before].led
	if l.ID == m.ids[node] {
		led = slices.Clone(led)
		after.broken = led.Lead(l)
		after.history = m.history(led)
	} else {
		after.broken = led.Follow(m.ids[node], l)
	}
	m.announced[key] = after
	return after
}
