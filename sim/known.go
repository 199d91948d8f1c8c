package sim

import (
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/membership"
)

// knownMembers is the config that a node has saved.
type knownMembers struct {
	configID  algo.ConfigID
	committed bool
	ids       []algo.NodeID
	text      string // complete content
}

// membersIn converts a membership record. Without a quorum there is none.
func membersIn(record algo.Message) (h knownMembers) {
	r, isRecord := record.(membership.Record)
	if !isRecord {
		return h
	}
	h = knownMembers{
		configID:  algo.ConfigID{Term: r.Config.ID.Term, Version: r.Config.ID.Version},
		committed: r.Committed,
		text:      fmt.Sprint(r.Config.Members, r.Config.Expired),
	}
	for _, e := range r.Config.Members {
		h.ids = append(h.ids, e.ID)
	}
	return h
}
