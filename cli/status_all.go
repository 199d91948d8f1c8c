package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
)

// statusAnswer is the answer of one address: a status, or the reason why there is none.
type statusAnswer struct {
	Addr   string        `json:"addr"`
	Status *statusObject `json:"status,omitempty"`
	Reason string        `json:"reason,omitempty"`
}

// statusObject is a status with the name, address and metadata of the leader.
type statusObject struct {
	cluster.Status
	LeaderName string            `json:"leader_name,omitempty"`
	LeaderAddr string            `json:"leader_addr,omitempty"`
	LeaderMeta map[string]string `json:"leader_meta,omitempty"`
}

// object returns the object that --json prints for a single address.
func (a statusAnswer) object() any {
	if a.Status == nil {
		return a
	}
	return a.Status
}

// queryStatus requests the status from one address.
func queryStatus(ctx context.Context, client client.Client, addr string) statusAnswer {
	s, err := client.Status(ctx, addr)
	if err != nil {
		return statusAnswer{Addr: addr, Reason: shortError(addr, err)}
	}
	o := &statusObject{Status: s}
	for _, m := range s.Members {
		if s.Leader != nil && m.ID == *s.Leader {
			o.LeaderName, o.LeaderAddr, o.LeaderMeta = m.Name, m.Addr, m.Meta
		}
	}
	return statusAnswer{Addr: addr, Status: o}
}

// maxQueries is the maximum number of concurrent requests.
const maxQueries = 16

// queryEach requests the status from each address, and returns the answers in the same order.
func queryEach(ctx context.Context, client client.Client, addrs []string) []statusAnswer {
	answers := make([]statusAnswer, len(addrs))
	slots := make(chan struct{}, maxQueries)
	var queries sync.WaitGroup
	for i, addr := range addrs {
		slots <- struct{}{}
		queries.Go(func() {
			answers[i] = queryStatus(ctx, client, addr)
			<-slots
		})
	}
	queries.Wait()
	return answers
}

// queryMembers requests the status from the addresses and, with --all, from the members that the first answer names.
func (o *statusCommand) queryMembers(ctx context.Context, client client.Client) []statusAnswer {
	answers := queryEach(ctx, client, o.addrs)
	first := slices.IndexFunc(answers, func(a statusAnswer) bool { return a.Status != nil })
	if !o.all || first < 0 {
		return answers
	}
	var rest []string
	for _, m := range answers[first].Status.Members {
		if !slices.ContainsFunc(answers, func(a statusAnswer) bool { return a.is(m) }) {
			rest = append(rest, m.Addr)
		}
	}
	return append(answers, queryEach(ctx, client, rest)...)
}

// is reports whether the answer comes from the member m, or from its address.
func (a statusAnswer) is(m cluster.Member) bool {
	return a.Addr == m.Addr || a.Status != nil && a.Status.Node == m.ID
}

func (o *statusCommand) runMany(ctx context.Context, w io.Writer, client client.Client) error {
	answers := o.queryMembers(ctx, client)
	differ := differences(answers)
	var err error
	if o.json {
		err = json.NewEncoder(w).Encode(map[string]any{"answers": answers, "differ": differ})
	} else {
		err = printAnswers(w, answers, differ)
	}
	if err != nil {
		return err
	}
	return agreement(answers)
}

// agreement is nil if all that answered name the same leader.
func agreement(answers []statusAnswer) error {
	var leaders []string
	for _, a := range answers {
		if a.Status != nil {
			leaders = append(leaders, leaderOf(a.Status))
		}
	}
	slices.Sort(leaders)
	leaders = slices.Compact(leaders)
	switch {
	case len(leaders) == 0:
		return errors.New("no member has answered")
	case len(leaders) > 1:
		return errors.New("the members do not agree on a leader")
	case leaders[0] == noLeader:
		return errors.New("no leader is known")
	}
	return nil
}

const noLeader = "none"

// leaderOf names a leadership.
func leaderOf(s *statusObject) string {
	switch {
	case s.Leader == nil:
		return noLeader
	case s.LeaderName == "":
		return fmt.Sprintf("%v in epoch %d", s.Leader, s.Epoch)
	}
	return fmt.Sprintf("%s in epoch %d", s.LeaderName, s.Epoch)
}

// nameOf is the name of the node that answered.
func nameOf(s *statusObject) string {
	for _, m := range s.Members {
		if m.ID == s.Node {
			return m.Name
		}
	}
	return s.Node.String()
}

// compared are the parts of a status in which members should not differ.
var compared = []struct {
	what string
	of   func(s *statusObject) string
}{
	{"cluster", func(s *statusObject) string { return s.Cluster }},
	{"algorithm", func(s *statusObject) string { return s.Algorithm }},
	{"leader", leaderOf},
	{"members", func(s *statusObject) string {
		names := []string{}
		for _, m := range s.Members {
			names = append(names, m.Name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}},
}

// differences returns sentences such as "leader: n3 in epoch 7 (n1, n3), none (n2)".
func differences(answers []statusAnswer) []string {
	differ := []string{}
	for _, c := range compared {
		var names, values []string
		for _, a := range answers {
			if a.Status != nil {
				names, values = append(names, nameOf(a.Status)), append(values, c.of(a.Status))
			}
		}
		differ = appendDifference(differ, c.what, names, values)
	}
	return differ
}

// appendDifference appends a sentence, unless all values are equal. values[i] is that of the member names[i].
func appendDifference(differ []string, what string, names, values []string) []string {
	var distinct []string
	namesOf := make(map[string][]string) // by value
	for i, value := range values {
		if namesOf[value] == nil {
			distinct = append(distinct, value)
		}
		namesOf[value] = append(namesOf[value], names[i])
	}
	if len(distinct) < 2 {
		return differ
	}
	for i, value := range distinct {
		distinct[i] = fmt.Sprintf("%s (%s)", value, strings.Join(namesOf[value], ", "))
	}
	return append(differ, what+": "+strings.Join(distinct, ", "))
}

// printAnswers prints a line for each address, and the differences between the answers.
func printAnswers(w io.Writer, answers []statusAnswer, differ []string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MEMBER\tADDRESS\tLEADER\tALGORITHM\tCONFIG\tWARNINGS")
	for _, a := range answers {
		if s := a.Status; s != nil {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\n", nameOf(s), a.Addr, leaderOf(s), s.Algorithm, configIDOf(s.Status), len(s.Warnings))
		} else {
			fmt.Fprintf(table, "-\t%s\t%s\n", a.Addr, strings.TrimPrefix(a.Reason, a.Addr+": "))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, line := range differ {
		if _, err := fmt.Fprintf(w, "\ndiffers  %s\n", line); err != nil {
			return err
		}
	}
	return nil
}
