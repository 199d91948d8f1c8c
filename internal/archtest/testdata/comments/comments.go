// Package elect has comments for the rule. It names [Config], [Config.Name], [other.Leader.Epoch] and other.Leader,
// which exist, and [slog.Logger], which is no name of the module. [7] and [N7] are no names.
package elect

import leads "github.com/elect-go/elect/other"

// Config contains a [leads.Leader], and no [leads.Follower]. A name of a variable in an example is not checked:
//
//	other.Close()
type Config struct {
	Name   string // as in other.Leader.Name
	Leader leads.Leader
}

// A Set is a set of IDs, and no [Map].
type Set []string

// Add adds an ID: see [Set.Remove].
func (s *Set) Add(id string) { *s = append(*s, id) }

// Reports whether l is a leader.
func isLeader(l leads.Leader) bool { return l.Epoch > 0 }

// A group has no name of its own.
type (
	plain struct{}
	// described has a comment.
	Described struct{}
)

func uncommented() {}
