package member

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"
)

var memberlistLibrary = Library{
	Name:     "memberlist",
	Modules:  []string{"github.com/hashicorp/memberlist"},
	Settings: func(t Timing) []string { return describeMemberlist(memberlistConfig(t)) },
	Beat:     func(t Timing) time.Duration { return memberlistConfig(t).ProbeInterval },
	start:    startMemberlist,
}

// memberlistConfig starts from the configuration that the README shows and that is made
// for a loopback. With t a member probes each t.Heartbeat and gives a silent member up after about
// t.Timeout: one probe and the nearest number of intervals, which may be less. Other settings
// that depend on the network keep their proportion to the interval.
func memberlistConfig(t Timing) *memberlist.Config {
	c := memberlist.DefaultLocalConfig()
	if t != (Timing{}) {
		c.ProbeInterval, c.ProbeTimeout, c.GossipInterval = t.Heartbeat, t.Heartbeat/2, t.Heartbeat/5
		c.SuspicionMult = max(1, int((t.Timeout-t.Heartbeat+t.Heartbeat/2)/t.Heartbeat))
	}
	return c
}

func describeMemberlist(c *memberlist.Config) []string {
	suspicion := time.Duration(c.SuspicionMult) * c.ProbeInterval
	dead := fmt.Sprintf("up to 10 members a suspect is dead after %v", suspicion)
	if c.SuspicionMult > 2 { // with a lower value, or in a small cluster, the library waits for no confirmation
		dead += fmt.Sprintf(", where %d others confirm it, else after up to %v",
			c.SuspicionMult-2, time.Duration(c.SuspicionMaxTimeoutMult)*suspicion)
	}
	return []string{
		fmt.Sprintf("ProbeInterval %v, ProbeTimeout %v, SuspicionMult %d, SuspicionMaxTimeoutMult %d, GossipInterval %v, GossipNodes %d, IndirectChecks %d, RetransmitMult %d",
			c.ProbeInterval, c.ProbeTimeout, c.SuspicionMult, c.SuspicionMaxTimeoutMult, c.GossipInterval, c.GossipNodes, c.IndirectChecks, c.RetransmitMult),
		dead,
		"UDP and TCP; nothing on disk; the rest by DefaultLocalConfig",
	}
}

func startMemberlist(m *member, t Timing) error {
	host, port, err := net.SplitHostPort(m.listen)
	if err != nil {
		return err
	}
	c := memberlistConfig(t)
	c.Name, c.BindAddr, c.LogOutput = m.name, host, io.Discard
	if c.BindPort, err = strconv.Atoi(port); err != nil {
		return err
	}
	c.AdvertiseAddr, c.AdvertisePort = c.BindAddr, c.BindPort
	c.Events = marks{m}
	// An undiscovered member counts as dead, so a reader sees when all members are connected.
	var others []string
	m.others(func(number int, addr string) {
		others = append(others, addr)
		m.events.dead(name(number), true)
	})
	list, err := memberlist.Create(c)
	if err != nil {
		return err
	}
	go func() {
		for list.NumMembers() < len(m.members) {
			_, _ = list.Join(others) // some members may not run yet
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return nil
}

// marks reports the changes of a member list as events.
type marks struct{ *member }

func (m marks) NotifyJoin(n *memberlist.Node) {
	if n.Name != m.name {
		m.events.dead(n.Name, false)
	}
}

func (m marks) NotifyLeave(n *memberlist.Node) {
	if n.Name != m.name {
		m.events.dead(n.Name, true)
	}
}

func (marks) NotifyUpdate(*memberlist.Node) {}
