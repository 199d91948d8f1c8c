package explore

import (
	"fmt"
	"slices"

	"github.com/elect-go/elect/algo"
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

// contractProperty returns which property it is about that a Machine found broken.
func contractProperty(rule algo.Rule) algo.Property {
	switch rule {
	case algo.RuleEpoch:
		return algo.EpochsGrow
	case algo.RuleDurable:
		return algo.Durable
	}
	return algo.Contract
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

// history is who has announced itself so far, sorted.
type history struct {
	led   []algo.Leader
	print fingerprint
}

func (sp *space) history(led []algo.Leader) uint32 {
	d := digest{a: 1} // not the fingerprint of a local
	for _, l := range led {
		d.leader(l)
	}
	print := d.sum()
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
	broken  *breach
}

// announce returns the history after a node has announced a leader, and what that
// breaks.
func (sp *space) announce(number uint32, node int, l algo.Leader) (uint32, *breach) {
	if !sp.track.led || l.Vacant() {
		return number, nil
	}
	key := announcement{number, node, l}
	after, ok := sp.announced[key]
	if !ok {
		after.history, after.broken = sp.announceAnew(number, node, l)
		sp.announced[key] = after
	}
	return after.history, after.broken
}

func (sp *space) announceAnew(number uint32, node int, l algo.Leader) (uint32, *breach) {
	led := sp.histories[number].led
	at, found := slices.BinarySearchFunc(led, l, algo.Leader.Compare)
	if found {
		return number, nil
	}
	if l.ID != sp.ids[node] {
		return number, &breach{algo.NoPhantom, fmt.Sprintf("%s follows %s in epoch %d, which has not announced that it leads then", sp.name(node), sp.idName(l.ID), l.Epoch)}
	}
	var broken *breach
	if other := slices.IndexFunc(led, func(o algo.Leader) bool { return o.Epoch == l.Epoch }); other >= 0 {
		broken = &breach{algo.OneLeaderPerEpoch, fmt.Sprintf("%s and %s both lead in epoch %d", sp.idName(led[other].ID), sp.name(node), l.Epoch)}
	}
	return sp.history(slices.Insert(slices.Clone(led), at, l)), broken
}
