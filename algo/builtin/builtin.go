// Package builtin is the list of the algorithms of this module. Nothing else
// imports them all.
package builtin

import (
	"maps"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/ring"
	textbookbully "github.com/elect-go/elect/algo/textbook/bully"
	textbookring "github.com/elect-go/elect/algo/textbook/ring"
	textbookvote "github.com/elect-go/elect/algo/textbook/vote"
	"github.com/elect-go/elect/algo/vote"
)

// ForUse returns the algorithms for production, by name. Each call returns a new map.
func ForUse() algo.Registry {
	return algo.Registry{
		"bully": bully.Factory,
		"ring":  ring.Factory,
		"vote":  vote.Factory,
	}
}

// Lookup returns the factory of the algorithm that word selects, such as "vote", as a
// cluster.Config takes it. For an unknown word, the factory fails: see [algo.Registry.Lookup].
func Lookup(word string) algo.Factory { return Registry().Lookup(word) }

// Registry returns all algorithms: those for production, and the textbooks, which are for lessons.
// Each call returns a new map.
func Registry() algo.Registry {
	all := ForUse()
	maps.Copy(all, algo.Registry{
		textbookbully.Name: textbookbully.Factory,
		textbookring.Name:  textbookring.Factory,
		textbookvote.Name:  textbookvote.Factory,
	})
	return all
}
