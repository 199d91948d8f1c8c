// Package builtin is the list of the algorithms of this module. Nothing else
// imports them all.
package builtin

import (
	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/ring"
	textbookbully "github.com/elect-go/elect/algo/textbook/bully"
	textbookring "github.com/elect-go/elect/algo/textbook/ring"
	textbookvote "github.com/elect-go/elect/algo/textbook/vote"
	"github.com/elect-go/elect/algo/vote"
)

// Registry returns the algorithms by name. The map is the caller's, who may add
// to it.
func Registry() algo.Registry {
	return algo.Registry{
		"bully": bully.Factory,
		"ring":  ring.Factory,
		"vote":  vote.Factory,

		textbookbully.Name: textbookbully.Factory,
		textbookring.Name:  textbookring.Factory,
		textbookvote.Name:  textbookvote.Factory,
	}
}
