package config

import "github.com/elect-go/elect/cluster"

// memberFields are those at the top of the file.
func memberFields(algorithms []string) []Field {
	const address = "host:port"
	return []Field{
		{Name: "cluster", Arg: "name", Help: "name of the cluster, the same on all its members",
			target: func(s *Settings) any { return &s.Config.Cluster }},
		{Name: "name", Arg: "name", Help: "name of this member, unique in the cluster", Empty: "the name of the host",
			target: func(s *Settings) any { return &s.Config.Name }},
		{Name: "listen", Arg: address, Help: "where this member listens", Empty: "none, it must be given",
			target: func(s *Settings) any { return &s.Config.Listen }},
		{Name: "advertise", Arg: address, Help: "where the others reach it, if that is not listen", Empty: "listen",
			target: func(s *Settings) any { return &s.Config.Advertise }},
		{Name: "join", Alias: "peer", Arg: address, Help: "members, any of which lets this one in at its first start",
			Empty:  "none, it founds a cluster unless there are members",
			target: func(s *Settings) any { return &s.Config.Join }},
		{Name: "members", Arg: address, Help: "all members, this one included, equal on all of them; instead of join", Empty: "none, they join and leave",
			target: func(s *Settings) any { return &s.Config.Members }},
		{Name: "data", Arg: "folder", Help: "folder for what must survive a restart", Empty: "none, a restart makes it a new member",
			target: func(s *Settings) any { return &s.Config.Data }},
		{Name: "algorithm", Arg: "word", Words: algorithms, Help: "how a leader is elected, the same on all members",
			target: func(s *Settings) any { return &s.Config.Algorithm }},
		{Name: "priority", Arg: "number", Live: true, Help: "a higher one is elected first, then a higher id",
			target: func(s *Settings) any { return &s.Config.Priority }},
		{Name: "witness", Help: "take part, but never lead",
			target: func(s *Settings) any { return &s.Config.Witness }},
		{Name: "log", Arg: "form", Words: []string{"text", "json"}, Help: "form of the log",
			target: func(s *Settings) any { return &s.Log }},
		{Name: "log_level", Arg: "level", Live: true, Words: []string{"debug", "info", "warn", "error"}, Help: "least level that is logged",
			target: func(s *Settings) any { return &s.level }},
	}
}

// timingFields are those of the section timing. Each changes the preset in one respect.
func timingFields() []Field {
	timing := func(name, help string, target func(*cluster.Timing) any) Field {
		return Field{Name: "timing." + name, Help: help, target: func(s *Settings) any { return target(&s.Config.Timing) }}
	}
	noEvidence := timing("no_evidence", "suspect by silence only, for networks whose firewalls forge refusals and resets",
		func(t *cluster.Timing) any { return &t.NoEvidence })
	noEvidence.Alias = "no-evidence"
	return []Field{
		{Name: presetField, Alias: "preset", Arg: "word", Words: presets(),
			Help:   "the timing for members on one machine, in one building, or far apart",
			target: func(s *Settings) any { return &s.preset }},
		timing("heartbeat", "time between two heartbeats of a leader",
			func(t *cluster.Timing) any { return &t.Heartbeat }),
		timing("timeout", "silence after which a peer is suspected at first; at least 2 heartbeats, and 1 and half a round trip",
			func(t *cluster.Timing) any { return &t.Timeout }),
		timing("max_timeout", "what the timeout grows to at most, after mistakes",
			func(t *cluster.Timing) any { return &t.MaxTimeout }),
		timing("forgive", "time without a mistake after which a quarter of that growth is taken back",
			func(t *cluster.Timing) any { return &t.Forgive }),
		timing("round_trip", "generous bound on a message there and back, and what is done with it",
			func(t *cluster.Timing) any { return &t.RoundTrip }),
		timing("min_redial", "shortest pause between two dials to who is needed",
			func(t *cluster.Timing) any { return &t.MinRedial }),
		timing("max_redial", "longest pause between two dials to who is needed",
			func(t *cluster.Timing) any { return &t.MaxRedial }),
		timing("first_contact", "how long fixed members wait for each other at their first start",
			func(t *cluster.Timing) any { return &t.FirstContact }),
		noEvidence,
	}
}
