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

// tracked says what must be remembered of the past. What is not asked for is not
// remembered: else states would differ that behave alike.
type tracked struct {
	told bool // each node: the highest epoch that it announced
	led  bool // who has announced itself, in which epoch
}

func track(properties []algo.Property) tracked {
	return tracked{
		told: slices.Contains(properties, algo.EpochsGrow),
		led:  slices.Contains(properties, algo.OneLeaderPerEpoch) || slices.Contains(properties, algo.NoPhantom),
	}
}

// history is who has announced itself so far.
type history struct {
	led   host.Past
	print host.Fingerprint
}

func (sp *space) history(led host.Past) uint32 {
	print := host.FingerprintOf(led)
	if number, ok := sp.historyBy[print]; ok {
		return number
	}
	number := uint32(len(sp.histories))
	sp.histories = append(sp.histories, history{led, print})
	sp.historyBy[print] = number
	return number
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

// announce returns the history after a node has announced a leader, and what that
// breaks.
func (sp *space) announce(number uint32, node int, l algo.Leader) (uint32, *host.Breach) {
	if !sp.track.led || l.Vacant() {
		return number, nil
	}
	key := announcement{number, node, l}
	after, ok := sp.announced[key]
	if !ok {
		led := sp.histories[number].led
		if after.history = number; l.ID == sp.ids[node] {
			led = slices.Clone(led)
			after.broken = led.Lead(l, sp.idName)
			after.history = sp.history(led)
		} else {
			after.broken = led.Follow(sp.ids[node], l, sp.idName)
		}
		sp.announced[key] = after
	}
	return after.history, after.broken
}
