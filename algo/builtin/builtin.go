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

// ForUse returns the algorithms that are for use among machines, by name. The map is the
// caller's, who may add to it.
func ForUse() algo.Registry {
	return algo.Registry{
		"bully": bully.Factory,
		"ring":  ring.Factory,
		"vote":  vote.Factory,
	}
}

// Registry returns all: those for use, and the textbooks, which are for lessons. The map is
// the caller's, who may add to it.
func Registry() algo.Registry {
	all := ForUse()
	maps.Copy(all, algo.Registry{
		textbookbully.Name: textbookbully.Factory,
		textbookring.Name:  textbookring.Factory,
		textbookvote.Name:  textbookvote.Factory,
	})
	return all
}
