package client

import (
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/wire"
)

// statusOf returns the status that a message carries.
func statusOf(r wire.StatusReply) cluster.Status {
	s := cluster.Status{
		Cluster: r.Cluster, Algorithm: r.Algorithm, Node: r.Node, Epoch: r.Epoch, ConfigVersion: r.ConfigVersion, ConfigTerm: r.ConfigTerm,
		Committed: r.Committed, Election: algo.ElectionCause(r.Election), ElectionAt: timeOf(r.ElectionAt), OtherLists: r.OtherLists,
		Members: []cluster.Member{}, PendingContacts: []cluster.PendingContact{}, Counters: make(map[string]uint64), // [] and {} in JSON
		MetaOmitted: int(r.MetaOmitted), MembersOmitted: int(r.MembersOmitted), PendingContactsOmitted: int(r.ContactsOmitted),
		CertificateEnd: timeOf(r.CertificateEnd),
	}
	if len(r.Leader) > 0 {
		s.Leader = &r.Leader[0]
	}
	for _, m := range r.Members {
		member := cluster.Member{
			ID: m.ID, Name: m.Name, Addr: m.Addr, Priority: m.Priority, Eligible: m.Eligible,
			State: m.State, Since: timeOf(m.Since), Timeout: m.Timeout, Meta: make(map[string]string), Standby: m.Standby,
		}
		for _, meta := range m.Meta {
			member.Meta[meta.Key] = meta.Value
		}
		s.Members = append(s.Members, member)
	}
	for _, c := range r.Contacts {
		s.PendingContacts = append(s.PendingContacts, cluster.PendingContact(c))
	}
	for _, l := range r.Learners {
		s.Learners = append(s.Learners, cluster.Learner(l))
	}
	for _, c := range r.Pending {
		s.Pending = append(s.Pending, cluster.Change(c))
	}
	for _, c := range r.Counters {
		s.Counters[c.Name] = c.Value
	}
	for _, w := range r.Warnings {
		s.Warnings = append(s.Warnings, cluster.Warning{Text: w.Text, At: timeOf(w.At), Count: w.Count})
	}
	if len(r.Lease) > 0 {
		lease := cluster.Lease(r.Lease[0])
		s.Lease = &lease
	}
	return s
}

// timeOf returns the zero time for 0.
func timeOf(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}
