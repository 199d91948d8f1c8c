package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/secure"
)

// The config has the name a for an ID. Only a certificate that includes this name may use the ID.
func TestCertificateMustNameOwnerOfID(t *testing.T) {
	id := algo.NodeID{1}
	view := algo.NewView(1, algo.Member{ID: id, Name: "a"})
	n := &Node{}
	n.view.Store(&view)
	for _, test := range []struct {
		name   string
		proved secure.Identity
		id     algo.NodeID
		may    bool
	}{
		{"its own", secure.Identity{Role: secure.Member, Names: []string{"a"}}, id, true},
		{"of another", secure.Identity{Role: secure.Member, Names: []string{"b"}}, id, false},
		{"of two names", secure.Identity{Role: secure.Member, Names: []string{"b", "a"}}, id, true},
		{"new ID", secure.Identity{Role: secure.Member, Names: []string{"b"}}, algo.NodeID{2}, true},
		{"secret", secure.Identity{Role: secure.SecretHolder}, id, true},
		{"secret and the certificate of another", secure.Identity{Role: secure.SecretHolder, Names: []string{"b"}}, id, false},
		{"open cluster", secure.Identity{}, id, true},
		{"no member", secure.Identity{Role: secure.Operator}, id, false},
	} {
		err := n.checkOwner(test.proved, wire.Hello{ID: test.id, Name: "b"})
		require.Equal(t, test.may, err == nil, "%s: %v", test.name, err)
	}
}
