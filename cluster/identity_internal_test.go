package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/wire"
	"github.com/elect-go/elect/tlsauth"
)

// The config has the name a for an ID. Only a certificate that includes this name may use the ID.
func TestCertificateMustNameOwnerOfID(t *testing.T) {
	id := algo.NodeID{1}
	view := algo.NewView(1, algo.Member{ID: id, Name: "a"})
	n := &Node{}
	n.view.Store(&view)
	for _, test := range []struct {
		name   string
		proved tlsauth.Identity
		id     algo.NodeID
		may    bool
	}{
		{"its own", tlsauth.Identity{Role: tlsauth.Member, Names: []string{"a"}}, id, true},
		{"of another", tlsauth.Identity{Role: tlsauth.Member, Names: []string{"b"}}, id, false},
		{"of two names", tlsauth.Identity{Role: tlsauth.Member, Names: []string{"b", "a"}}, id, true},
		{"new ID", tlsauth.Identity{Role: tlsauth.Member, Names: []string{"b"}}, algo.NodeID{2}, true},
		{"secret", tlsauth.Identity{Role: tlsauth.SecretHolder}, id, true},
		{"secret and the certificate of another", tlsauth.Identity{Role: tlsauth.SecretHolder, Names: []string{"b"}}, id, false},
		{"open cluster", tlsauth.Identity{}, id, true},
		{"no member", tlsauth.Identity{Role: tlsauth.Operator}, id, false},
	} {
		err := n.checkOwner(test.proved, wire.Hello{ID: test.id, Name: "b"})
		require.Equal(t, test.may, err == nil, "%s: %v", test.name, err)
	}
}
