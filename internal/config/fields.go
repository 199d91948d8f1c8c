package config

const (
	timingSection = "timing."
	address       = "host:port"
)

// memberFields are those at the top of the file, each named after a field of cluster.Config.
var memberFields = []Field{
	{Name: "cluster", Arg: "name", Help: "name of the cluster, the same on all its members"},
	{Name: "name", Arg: "name", Help: "name of this member, unique in the cluster", Empty: "the name of the host and the port, HOST-7400"},
	{Name: "listen", Arg: address, Help: "where this member listens", Empty: "none, it must be given"},
	{Name: "advertise", Arg: address, Help: "where the others reach it, if that is not listen", Empty: "listen"},
	{Name: "bootstrap", Help: "found a cluster at the first start, once all that join names refuse or are in none; it may stay set"},
	{Name: "join", Alias: "peer", Arg: address, Help: "members, any of which lets this one in at its first start", Empty: "none"},
	{Name: "members", Arg: address, Help: "all members, this one included, equal on all of them; instead of join and bootstrap", Empty: "none, they join and leave"},
	{Name: "data", Arg: "folder", Help: "folder for what must survive a restart", Empty: "none, a restart makes it a new member"},
	{Name: "algorithm", Arg: "word", Help: "how a leader is elected, the same on all members"},
	{Name: "lesson", Help: "let an algorithm run that is for lessons, on the loopback only"},
	{Name: "priority", Arg: "number", Live: true, Help: "a higher one is elected first, then a higher id"},
	{Name: "witness", Help: "take part, but never lead"},
	{Name: "forget_after", Help: "the leader removes who was suspected for so long; 0 for never; not with vote"},
	{Name: "no_admin", Help: "refuse what operators ask over the network: to remove a member, to leave, to resign, another priority"},
}

// ownFields are those at the top that the node itself does not know.
var ownFields = []Field{
	{Name: "lease", Help: "lead only while a majority has promised to have no other: at most one leads at any moment; needs data"},
	{Name: "log", Arg: "form", Words: []string{"text", "json"}, Help: "form of the log"},
	{Name: "log_level", Arg: "level", Live: true, Words: []string{"debug", "info", "warn", "error"}, Help: "least level that is logged"},
}

// presetField is the field of the words for timings, in the order of their size.
var presetField = Field{Name: "preset", Alias: "preset", Arg: "word", Words: []string{"local", "lan", "wan"},
	Help: "the timing for members on one machine, in one building, or far apart"}

// timingFields are those of the section timing, each named after a field of algo.Timing.
// Each changes the preset in one respect.
var timingFields = []Field{
	{Name: "heartbeat", Help: "time between two heartbeats of a leader"},
	{Name: "timeout", Help: "silence after which a peer is suspected at first; at least 2 heartbeats, and 1 and half a round trip"},
	{Name: "max_timeout", Help: "what the timeout grows to at most, after mistakes"},
	{Name: "forgive", Help: "time without a mistake after which a quarter of that growth is taken back"},
	{Name: "round_trip", Help: "generous bound on a message there and back, and what is done with it"},
	{Name: "min_redial", Help: "shortest pause between two dials to who is needed"},
	{Name: "max_redial", Help: "longest pause between two dials to who is needed"},
	{Name: "first_contact", Help: "how long fixed members wait for each other at their first start"},
	{Name: "no_evidence", Alias: "no-evidence", Help: "suspect by silence only, for networks whose firewalls forge refusals and resets"},
}
