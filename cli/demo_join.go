package cli

import (
	"context"
	"slices"
	"time"

	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/proccluster"
)

// joinObject is the JSON result of demo --join.
type joinObject struct {
	Algorithm string   `json:"algorithm"`
	Joined    string   `json:"joined"`
	JoinMS    float64  `json:"join_ms"`
	Removed   string   `json:"removed"`
	RemoveMS  float64  `json:"remove_ms"`
	Members   []string `json:"members"`
	Clock     string   `json:"clock,omitempty"`
}

// grow starts one more node, which joins through n1, and then removes another node through n1. It waits for each
// change to reach all nodes.
func (d *demo) grow(ctx context.Context) error {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	joined, took, err := d.join(ctx)
	if err != nil {
		return err
	}
	if err := d.report.wait(ctx, 2*time.Second); err != nil {
		return err
	}
	out, err := d.remove(ctx)
	if err != nil {
		return err
	}
	if d.flags.json {
		out.Algorithm, out.Joined, out.JoinMS = d.flags.variant(), joined, ms(took)
		if proccluster.Clock != "monotonic" {
			out.Clock = proccluster.Clock
		}
		return d.print(out)
	}
	return d.report.wait(ctx, 2*time.Second)
}

func (d *demo) join(ctx context.Context) (name string, took time.Duration, err error) {
	before, _ := proccluster.Agreement(d.cluster.States())
	added, err := d.cluster.Add(ctx)
	if err != nil {
		return "", 0, err
	}
	at, members, err := d.arrival(ctx)
	if err != nil {
		return "", 0, err
	}
	leader, err := d.cluster.WaitQuiet(ctx)
	if err != nil {
		return "", 0, err
	}
	took = time.Duration(max(0, at-added.ReadyAt))
	after := "as soon as it was up"
	if took > 0 {
		after = inMS(took) + " after it was up"
	}
	d.report.print(good, d.cluster.States(), "%s joins through n1. All %d know it, %s.", added.Name, len(members), after)
	if leader.ID != before.ID {
		d.report.print(plain, nil, "%s is the highest now, and leads in epoch %d.", leader.Name, leader.Epoch)
	}
	return added.Name, took, nil
}

func (d *demo) remove(ctx context.Context) (joinObject, error) {
	states := d.cluster.States()
	leader, _ := proccluster.Agreement(states)
	i := slices.IndexFunc(states, func(s proccluster.State) bool { return s.Name != "n1" && s.Name != leader.Name })
	name := states[i].Name
	at, err := d.cluster.RemoveNode(ctx, name, func(ctx context.Context) error {
		return client.Client{}.Remove(ctx, states[0].Addr, name)
	})
	if err != nil {
		return joinObject{}, err
	}
	arrived, members, err := d.arrival(ctx)
	if err != nil {
		return joinObject{}, err
	}
	took := time.Duration(max(0, arrived-at))
	d.report.print(good, d.cluster.States(), "%s is removed through n1 (elect remove %s), and stops. The other %d know it, %s after the request.",
		name, name, len(members), inMS(took))
	return joinObject{Removed: name, RemoveMS: ms(took), Members: members}, nil
}

// gathered exceeds the time for which nodes buffer their reports.
const gathered = 100 * time.Millisecond

// arrival waits until the members that each running node knows are exactly the running nodes.
// It returns the time of the last config change.
func (d *demo) arrival(ctx context.Context) (at int64, members []string, err error) {
	for agreed := false; !agreed; {
		if members, agreed, err = d.views(ctx); err != nil {
			return 0, nil, err
		}
		if err := proccluster.Sleep(ctx, gathered); err != nil {
			return 0, nil, err
		}
	}
	for _, s := range d.cluster.States() {
		if s.ProcState == proccluster.Up {
			at = max(at, s.ConfigAt)
		}
	}
	return at, members, nil
}

// views requests the members from each running node. The nodes agree if the members of each are exactly the running
// nodes.
func (d *demo) views(ctx context.Context) (up []string, agreed bool, err error) {
	var addrs []string
	for _, s := range d.cluster.States() {
		if s.ProcState == proccluster.Up {
			up, addrs = append(up, s.Name), append(addrs, s.Addr)
		}
	}
	slices.Sort(up)
	for _, addr := range addrs {
		status, err := client.Client{}.Status(ctx, addr)
		if err != nil {
			return nil, false, err
		}
		if !status.Committed || !slices.Equal(memberNames(status), up) {
			return up, false, nil
		}
	}
	return up, true, nil
}

func memberNames(s cluster.Status) []string {
	var names []string
	for _, m := range s.Members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}
