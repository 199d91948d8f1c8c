package wire

import (
	"time"

	"github.com/elect-go/elect/algo"
)

// StatusReply is the reply to a [StatusRequest]. It carries the status of package cluster, and can change
// independently of it. A time counts nanoseconds since 1970 in UTC; 0 stands for no time.
type StatusReply struct {
	Cluster       string `wire:"max=64"`
	Algorithm     string `wire:"max=32"`
	Node          algo.NodeID
	Leader        []algo.NodeID `wire:"max=1"` // empty if no leader is known
	Epoch         algo.Epoch
	ConfigVersion uint64
	ConfigTerm    algo.Epoch
	Committed     bool
	Members       []StatusMember  `wire:"max=512"`
	Contacts      []StatusContact `wire:"max=512"`
	Counters      []StatusCounter // sorted by name
	Election      StatusElection
	ElectionAt    int64
	Lease         []StatusLease   `wire:"max=1"` // empty without a lease
	OtherLists    []string        `wire:"max=512"`
	Learners      []StatusLearner `wire:"max=16"`
	Pending       []StatusChange  `wire:"max=16"`
	// Numbers of entries that are omitted because a frame has no room for them.
	MetaOmitted, MembersOmitted, ContactsOmitted uint32
	CertificateEnd                               int64           // end of the validity of the node's certificate, with its issuers; 0 without one
	Warnings                                     []StatusWarning `wire:"max=16,optional"`
}

// StatusWarning is a problem that an operator should solve.
type StatusWarning struct {
	Text  string `wire:"max=256"`
	At    int64
	Count uint64
}

// StatusMember is one member in a StatusReply.
type StatusMember struct {
	ID       algo.NodeID
	Name     string `wire:"max=64"`
	Addr     string
	Priority int
	Eligible bool
	State    string `wire:"max=16"`
	Since    int64
	Timeout  time.Duration
	Meta     []StatusMeta // sorted by key
	Standby  bool
}

// StatusLearner is a node that wants to join.
type StatusLearner struct {
	ID   algo.NodeID
	Name string `wire:"max=64"`
	Addr string
}

// StatusChange is a pending change of the config.
type StatusChange struct {
	What   string `wire:"max=16"`
	ID     algo.NodeID
	Name   string `wire:"max=64"`
	Reason string
}

// StatusMeta is one entry of the metadata of a member.
type StatusMeta struct{ Key, Value string }

// StatusContact is an address at which the node expects a member.
type StatusContact struct {
	Addr   string
	Answer string `wire:"max=128"`
}

// StatusCounter is one counter and its value.
type StatusCounter struct {
	Name  string
	Value uint64
}

// StatusElection describes the start of the last election.
type StatusElection struct {
	Caller    algo.NodeID
	Reason    string `wire:"max=16"`
	Previous  algo.NodeID
	Epoch     algo.Epoch
	SilentFor time.Duration
}

// StatusLease is the lease, as the node knows it.
type StatusLease struct {
	Token         uint64
	Remaining     time.Duration
	Nominated     bool
	PendingGrants []string `wire:"max=512"`
}

// Kind is "status-reply".
func (StatusReply) Kind() string { return "status-reply" }
