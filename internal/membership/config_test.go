package membership

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
)

func TestMalformedConfigIsRejected(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(c *Config)
		want  string
	}{
		{"no cluster", func(c *Config) { c.Cluster = algo.NodeID{} }, "no cluster, no version or no members"},
		{"no version", func(c *Config) { c.ID.Version = 0 }, "no cluster, no version or no members"},
		{"no members", func(c *Config) { c.Members = nil }, "no cluster, no version or no members"},
		{"the last term", func(c *Config) { c.ID.Term = math.MaxUint64 }, "leaves no room for later ones"},
		{"the last version", func(c *Config) { c.ID.Version = math.MaxUint64 }, "leaves no room for later ones"},
		{"unsorted members", func(c *Config) { c.Members[0], c.Members[1] = c.Members[1], c.Members[0] }, "not sorted by ID"},
		{"one member twice", func(c *Config) { c.Members[1] = c.Members[0] }, "not sorted by ID"},
		{"no ID", func(c *Config) { c.Members[0].ID = algo.NodeID{} }, "a member has no ID"},
		{"no name", func(c *Config) { c.Members[0].Name = "" }, "is empty or not plain text"},
		{"newline in an address", func(c *Config) { c.Members[0].Addr = "a\nb" }, "is empty or not plain text"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := configOf(9, 9, true, 1, 2)
			test.spoil(&u.Config)
			require.ErrorContains(t, u.Config.check(), test.want)
			s := voter(3)
			s.receive(2, u)
			require.Equal(t, []string{"reject n2"}, s.done)
			require.Equal(t, "1.1{1 2 3} committed", s.holds())
		})
	}
}

func TestConfigsAreOrderedByTermThenVersion(t *testing.T) {
	ids := []ConfigID{{0, 1}, {0, 2}, {1, 1}, {1, 9}, {2, 3}}
	for i, a := range ids {
		for j, b := range ids {
			require.Equal(t, i < j, a.Compare(b) < 0, "%v, %v", a, b)
			require.Equal(t, i == j, a.Compare(b) == 0, "%v, %v", a, b)
		}
	}
}

func TestDigestTellsConfigsApart(t *testing.T) {
	c := configOf(1, 2, true, 1, 2).Config
	other := c
	other.Cluster = testID(7)
	digests := map[uint64]bool{
		c.digest(true): true, c.digest(false): true, other.digest(true): true,
		configOf(1, 3, true, 1, 2).Config.digest(true): true, configOf(2, 2, true, 1, 2).Config.digest(true): true,
	}
	require.Len(t, digests, 5)
	require.NotContains(t, digests, uint64(0))
	require.Zero(t, Config{}.digest(false))
}

func TestMemberConvertsToAlgorithmMember(t *testing.T) {
	m := algo.Member{ID: testID(1), Name: "b", Addr: "B", Priority: 4}
	require.Equal(t, Member{ID: testID(1), Name: "b", Addr: "B", Priority: 4, Witness: true}, MemberOf(m))
}

func TestMalformedLearnerIsRejected(t *testing.T) {
	s := voter(3)
	self := selfOf(4, 1, 1)
	self.Member.Addr = strings.Repeat("\x00", 3)
	s.receive(4, self)
	require.Equal(t, []string{"join-rejected to n4"}, s.done)
}

func TestRestartedNodeMustReplyAgain(t *testing.T) {
	s := newScript(Options{Self: entryOf(0), List: []string{"A", "B", "C"}})
	s.leader, s.taken = algo.Leader{}, 0
	s.m.HandleReached(0, "B", testID(1))
	s.m.HandleReached(0, "C", testID(2))
	s.receive(2, BootstrapReply{entryOf(1)})
	require.Len(t, s.m.Undiscovered(), 1)
	s.m.Up(0, Peer{ID: testID(1), Name: entryOf(1).Name, Incarnation: 2, Dialed: "B"}) // n2 restarted, and may have joined a cluster before
	require.Len(t, s.m.Undiscovered(), 2)
	s.receive(3, BootstrapReply{entryOf(2)})
	require.Zero(t, s.m.Cluster())
	s.receive(2, BootstrapReply{entryOf(1)})
	require.Equal(t, "0.1{1 2 3}", s.holds())
	require.Equal(t, testID(91), s.m.Config().Cluster)
	require.False(t, s.m.Committed())
}
