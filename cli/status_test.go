package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/fd"
)

func TestStatusIsPrintedAsText(t *testing.T) {
	now := time.Unix(10_000, 0)
	s := cluster.Status{
		Cluster: "fleet", Algorithm: "bully", Node: algo.NodeID{1}, Epoch: 7, ConfigVersion: 3, Committed: true,
		Members: []cluster.Member{
			{ID: algo.NodeID{2}, Name: "b", Addr: "h:2", Priority: 5, Eligible: true, State: "alive", Since: now.Add(-time.Minute), Timeout: 570 * time.Millisecond},
			{ID: algo.NodeID{1}, Name: "a", Addr: "h:1", Eligible: false, State: "self", Since: now},
		},
		PendingContacts: []cluster.PendingContact{{Addr: "h:3", Answer: "connection refused"}, {Addr: "h:2", Answer: "misses b, which answered but did not become leader (elections: 3)"}},
		Counters:        map[string]uint64{"saves": 4},
	}
	print := func() string {
		var out bytes.Buffer
		require.NoError(t, printStatus(&out, s, now))
		return out.String()
	}
	require.NotContains(t, print(), "election ")
	s.Election, s.ElectionAt = algo.ElectionCause{Caller: algo.NodeID{1}, Reason: "start"}, now.Add(-time.Hour)
	require.Regexp(t, `(?m)^election +called by a 1 h ago: start$`, print())
	s.Election = algo.ElectionCause{Caller: algo.NodeID{1}, Reason: fd.ReasonSilence, Previous: algo.NodeID{2}, Epoch: 6, SilentFor: 380 * time.Millisecond}
	require.Regexp(t, `(?m)^election +called by a 1 h ago: silence for 380ms, when b led in epoch 6$`, print())
	require.Regexp(t, `(?m)^leader +no leader is known in epoch 7$`, print())
	s.Leader = &s.Members[0].ID
	text := print()
	for _, want := range []string{
		`^leader +b in epoch 7$`, `^cluster +fleet, algorithm bully, config 3$`, `^asked +a$`,
		`^b +leader +alive +1 min ago +570ms +5 +h:2 +02000000-`, `^a +witness +self +now +- +0 +h:1 +01000000-`, `^saves +4$`,
		`^AWAITED +ADDRESS +ANSWER$`, `^not met +h:3 +connection refused$`,
		`^met +h:2 +misses b, which answered but did not become leader \(elections: 3\)$`,
	} {
		require.Regexp(t, "(?m)"+want, text)
	}
	require.NotContains(t, text, "METADATA")
	require.NotContains(t, text, "lease")
	require.NotContains(t, text, "certificate")
	for left, want := range map[time.Duration]string{
		31*24*time.Hour + time.Minute: "31 days left", 25*time.Hour + time.Minute: "25 h left", -time.Second: "which is over",
	} {
		s.CertificateEnd = now.Add(left)
		require.Contains(t, print(), "\nidentity   certificate until "+s.CertificateEnd.UTC().Format(time.RFC3339)+", "+want+"\n")
	}
	s.Members[0].Meta, s.MetaOmitted = map[string]string{"http": "h:80", "a": "b c"}, 7
	require.Contains(t, print(), "\nMEMBER  METADATA\nb       a=b c\nb       http=h:80\nand of 7 more: ask them for theirs\n\nAWAITED")
	s.MembersOmitted, s.PendingContactsOmitted = 1, 12
	require.Contains(t, print(), "\nand 1 more, for which the answer has no room\n\nMEMBER  METADATA\n")
	require.Contains(t, print(), "\nand 12 more, for which the answer has no room\n\nCOUNTER")
	for want, lease := range map[string]cluster.Lease{
		"token 7, 612ms left unless renewed":      {Token: 7, Remaining: 612345 * time.Microsecond},
		"token 7, held by the leader":             {Token: 7},
		"no holder is known":                      {},
		"nominated, granted by 2 of 3, missing b": {Nominated: true, PendingGrants: []string{"b"}},
	} {
		s.Lease = &lease
		require.Contains(t, print(), "\nlease      "+want+"\n")
	}
	s.ConfigTerm, s.Committed = 5, false
	require.Regexp(t, `(?m)config 5\.3 \(not committed\)$`, print())
	s.Members[1].Standby = true
	s.Learners = []cluster.Learner{{ID: algo.NodeID{3}, Name: "c", Addr: "h:3"}}
	s.Pending = []cluster.Change{{What: "remove", Name: "b", Reason: "no leader is known"}}
	text = print()
	for _, want := range []string{`^a +standby +self `, `^c +learner +connected +- +- +- +h:3 +03000000-`, `^pending +remove b: no leader is known$`} {
		require.Regexp(t, "(?m)"+want, text)
	}
	s.Leader = &algo.NodeID{9} // a leader that is not in the list of members yet
	require.Contains(t, print(), "09000000-")
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 999 * time.Millisecond: "now", time.Second: "1 s ago", 59 * time.Second: "59 s ago", 90 * time.Second: "1 min ago",
		time.Hour: "1 h ago", 47 * time.Hour: "47 h ago", 49 * time.Hour: "2 days ago",
	} {
		if got := ago(d); got != want {
			t.Errorf("ago(%v) = %q, want %q", d, got, want)
		}
	}
}
