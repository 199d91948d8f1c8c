package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/elect-go/elect/internal/wire"
)

// statusReply returns a status as a message. What a frame has no room for is omitted, and counted.
func statusReply(s Status) wire.StatusReply {
	r := wire.StatusReply{
		Cluster: s.Cluster, Algorithm: s.Algorithm, Node: s.Node, Epoch: s.Epoch, ConfigVersion: s.ConfigVersion, ConfigTerm: s.ConfigTerm,
		Committed: s.Committed, ElectionAt: unixNano(s.ElectionAt), Election: wire.StatusElection(s.Election), OtherLists: s.OtherLists,
		CertificateEnd: unixNano(s.CertificateEnd),
	}
	if s.Leader != nil {
		r.Leader = append(r.Leader, *s.Leader)
	}
	for _, m := range s.Members {
		member := wire.StatusMember{
			ID: m.ID, Name: m.Name, Addr: m.Addr, Priority: m.Priority, Eligible: m.Eligible,
			State: m.State, Since: unixNano(m.Since), Timeout: m.Timeout, Standby: m.Standby,
		}
		for _, key := range slices.Sorted(maps.Keys(m.Meta)) {
			member.Meta = append(member.Meta, wire.StatusMeta{Key: key, Value: m.Meta[key]})
		}
		r.Members = append(r.Members, member)
	}
	for _, a := range s.PendingContacts {
		r.Contacts = append(r.Contacts, wire.StatusContact(a))
	}
	for _, l := range s.Learners {
		r.Learners = append(r.Learners, wire.StatusLearner(l))
	}
	for _, c := range s.Pending {
		r.Pending = append(r.Pending, wire.StatusChange(c))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Counters)) {
		r.Counters = append(r.Counters, wire.StatusCounter{Name: name, Value: s.Counters[name]})
	}
	for _, w := range s.Warnings {
		r.Warnings = append(r.Warnings, wire.StatusWarning{Text: w.Text, At: unixNano(w.At), Count: w.Count})
	}
	if s.Lease != nil {
		r.Lease = append(r.Lease, wire.StatusLease(*s.Lease))
	}
	trimToFrame(&r)
	return r
}

// unixNano returns 0 for the zero time, of which [time.Time.UnixNano] is undefined.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// keptContacts is the number of contacts that are not omitted. What is never omitted fits a frame: of the lists of
// names, a reply has only one, because no cluster without a quorum has a lease.
const keptContacts = 16

// trimToFrame omits the last elements of each list, as many as needed: first metadata, then contacts, then members.
// The leader and the node itself are never omitted.
func trimToFrame(r *wire.StatusReply) {
	size := func(r wire.StatusReply) int {
		frame, _ := clients.Append(nil, r)
		return len(frame)
	}
	over := size(*r) + 3*2 - maxFrame // each count of what is omitted may grow by 2 bytes
	empty := size(wire.StatusReply{})
	sizeOf := func(m wire.StatusMember) int {
		return size(wire.StatusReply{Members: []wire.StatusMember{m}}) - empty
	}
	isKept := func(m wire.StatusMember) bool { return m.ID == r.Node || slices.Contains(r.Leader, m.ID) }
	for i := len(r.Members) - 1; i >= 0 && over > 0; i-- {
		if m := &r.Members[i]; len(m.Meta) > 0 && !isKept(*m) {
			over -= sizeOf(*m)
			m.Meta = nil
			over += sizeOf(*m)
			r.MetaOmitted++
		}
	}
	for last := len(r.Contacts) - 1; last >= keptContacts && over > 0; last-- {
		over -= size(wire.StatusReply{Contacts: r.Contacts[last:]}) - empty
		r.Contacts = r.Contacts[:last]
		r.ContactsOmitted++
	}
	for i := len(r.Members) - 1; i >= 0 && over > 0; i-- {
		if m := r.Members[i]; !isKept(m) {
			over -= sizeOf(m)
			r.Members = slices.Delete(r.Members, i, i+1)
			r.MembersOmitted++
		}
	}
}
