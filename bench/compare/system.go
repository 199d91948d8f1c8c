package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/bench/compare/member"
	"github.com/elect-go/elect/internal/proccluster"
)

// system is a measured system: a library, or the elect command with flags.
type system struct {
	name       string
	library    member.Library // empty for the elect command
	flags      []string       // of the elect command
	about      string
	aggressive member.Timing // see shortest
}

// firstPort is the port of n1 of a library. The cluster chooses the IP address.
const firstPort = 7001

const ours = "elect" // reference system

func systems() []system {
	all := []system{
		{name: ours, about: "bully without a lease", flags: []string{"--lease=off"}},
		{name: "elect-silence", about: "bully without a lease, without evidence: only silence counts", flags: []string{"--lease=off", "--timeout-only"}},
		{name: "elect-vote", about: "vote without a lease, by a majority of saved votes", flags: []string{"--lease=off", "--algorithm", "vote"}},
	}
	for _, l := range member.Libraries() {
		all = append(all, system{name: l.Name, library: l})
	}
	for i := range all {
		all[i].aggressive = shortest[all[i].name]
	}
	return all
}

// shortest is the setting aggressive of each system: the shortest of the timeouts 100, 75, 50, 25
// and 10 ms, with a heartbeat interval of a fifth, that caused no suspicion in 30 s. It was measured
// with five processes on two idle cores. Under other load some systems need 200 ms; -steady checks it.
var shortest = map[string]member.Timing{
	ours: timing(2, 10), "elect-silence": timing(2, 10), "elect-vote": timing(20, 100),
	"hashicorp-raft": timing(15, 75), "etcd-raft": timing(2, 10), "etcd-raft-prevote": timing(2, 10), "memberlist": timing(20, 100),
}

func timing(heartbeat, timeout int) member.Timing {
	return member.Timing{Heartbeat: time.Duration(heartbeat) * time.Millisecond, Timeout: time.Duration(timeout) * time.Millisecond}
}

func systemNames() []string {
	var names []string
	for _, s := range systems() {
		names = append(names, s.name)
	}
	return names
}

// lookupSystem finds a system by its name.
func lookupSystem(name string) (system, bool) {
	all := systems()
	i := slices.IndexFunc(all, func(s system) bool { return s.name == name })
	if i < 0 {
		return system{}, false
	}
	return all[i], true
}

func (s system) isOurs() bool { return s.library.Name == "" }

// leads reports whether the system has leaders.
func (s system) leads() bool { return s.isOurs() || s.library.Leads }

// The named settings.
const (
	atDefaults = "defaults"
	equal      = "equal"
	aggressive = "aggressive"
)

// timing returns the timing of this system under a setting.
func (s system) timing(setting string) (member.Timing, error) {
	var t member.Timing
	switch setting {
	case equal:
		lan := algo.LAN()
		return member.Timing{Heartbeat: lan.Heartbeat, Timeout: lan.Timeout}, nil
	case aggressive:
		return s.aggressive, nil
	}
	err := t.Set(setting)
	return t, err
}

// timingOf returns the timing of the elect command.
func timingOf(t member.Timing) algo.Timing {
	c := algo.LAN()
	if t != (member.Timing{}) && (t.Heartbeat != c.Heartbeat || t.Timeout != c.Timeout) {
		c.Heartbeat, c.Timeout = t.Heartbeat, t.Timeout
		c.RoundTrip = min(c.RoundTrip, t.Timeout/2) // about as in the preset
	}
	return c
}

// beat returns the heartbeat interval.
func (s system) beat(t member.Timing) time.Duration {
	if s.isOurs() {
		return timingOf(t).Heartbeat
	}
	return s.library.Beat(t)
}

// settings describes the settings of the system for t.
func (s system) settings(t member.Timing) []string {
	if !s.isOurs() {
		return s.library.Settings(t)
	}
	c := timingOf(t)
	preset := "as the preset lan, the default"
	if c != algo.LAN() {
		preset = "the rest as the preset lan"
	}
	lines := []string{
		fmt.Sprintf("heartbeat %v, timeout %v, round trip %v; %s", c.Heartbeat, c.Timeout, c.RoundTrip, preset),
		s.about + "; bbolt, synced; TCP; GOMAXPROCS 1, the command's own choice",
	}
	if len(s.flags) > 0 {
		lines[1] += "; flags " + strings.Join(s.flags, " ")
	}
	return lines
}

// clusterConfig returns the config of a cluster of this system. electPath and selfPath are the programs;
// clusterConfig may write a configuration file into dir.
func (s system) clusterConfig(t member.Timing, nodes int, electPath, selfPath, dir string) (proccluster.Config, error) {
	config := proccluster.Config{Nodes: nodes, Hosts: proccluster.Loopback(nodes), Dir: dir}
	if !s.isOurs() {
		config.Command = []string{selfPath, memberCommand}
		config.Args = []string{"--library", s.library.Name, "--timing", t.String()}
		for i := range config.Hosts { // every member needs all addresses at its start
			host, _, _ := net.SplitHostPort(config.Hosts[i].Addr)
			config.Hosts[i].Addr = net.JoinHostPort(host, strconv.Itoa(firstPort+i))
		}
		return config, nil
	}
	config.Command, config.Args = []string{electPath}, slices.Clone(s.flags)
	c := timingOf(t)
	if c == algo.LAN() {
		return config, nil
	}
	file := filepath.Join(dir, "elect.yaml")
	text := fmt.Sprintf("timing: {heartbeat: %v, timeout: %v, round_trip: %v}\n", c.Heartbeat, c.Timeout, c.RoundTrip)
	config.Args = append(config.Args, "--config", file)
	return config, os.WriteFile(file, []byte(text), 0o600)
}
