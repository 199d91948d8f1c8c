package cluster

import "github.com/elect-go/elect/algo"

// Timing is what a member is told of its network.
type Timing = algo.Timing

// LAN is algo.LAN, the default. Local and WAN are the other presets.
func LAN() Timing { return algo.LAN() }

// Local is algo.Local.
func Local() Timing { return algo.Local() }

// WAN is algo.WAN.
func WAN() Timing { return algo.WAN() }

// Presets returns the timings by the word that selects them.
func Presets() map[string]Timing { return algo.Presets() }
