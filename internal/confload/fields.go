package confload

import (
	"reflect"
	"time"
)

// fields are the settings of a node, as its file, its flags, its variables and its help name them. A field with the
// name and the type of a field of cluster.Config sets that field. Tags:
//
//	yaml   name in its section
//	help   meaning, in a line
//	arg    name of the value in help
//	empty  meaning of an empty default
//	words  all allowed values
//	flag   another name of the flag
//	reloadable  a running node applies a change
type fields struct {
	Cluster              string        `yaml:"cluster" arg:"name" help:"name of the cluster, the same on all its members"`
	Name                 string        `yaml:"name" arg:"name" empty:"the name of the host and the port, HOST-7400" help:"name of this member, unique in the cluster"`
	Listen               string        `yaml:"listen" arg:"host:port" empty:"none, it must be given" help:"where this member listens"`
	Advertise            string        `yaml:"advertise" arg:"host:port" empty:"listen" help:"where the others reach it, if that is not listen"`
	Bootstrap            bool          `yaml:"bootstrap" help:"bootstrap a cluster at the first start, once all that join names refuse or are in none; it may stay set; needs a quorum"`
	Join                 []string      `yaml:"join" flag:"peer" arg:"host:port" empty:"none" help:"members, any of which adds this one at its first start; needs a quorum"`
	Members              []string      `yaml:"members" arg:"host:port" empty:"none, they join and leave" reloadable:"yes" help:"all members, this one included, equal on all of them; instead of join and bootstrap; a running node with a quorum keeps its own"`
	DataDir              string        `yaml:"data_dir" arg:"folder" empty:"none, a restart makes it a new member" help:"folder for what must survive a restart; the lease and vote need it"`
	Algorithm            string        `yaml:"algorithm" arg:"word" help:"how a leader is elected, the same on all members"`
	AllowTextbook        bool          `yaml:"allow_textbook" help:"let an algorithm run that is for lessons, on the loopback only"`
	Priority             int           `yaml:"priority" arg:"number" reloadable:"yes" help:"a higher one is elected first, then a higher id"`
	Witness              bool          `yaml:"witness" help:"take part, but never lead"`
	RemoveSuspectedAfter time.Duration `yaml:"remove_suspected_after" help:"the leader removes a member that it has suspected for this time; 0 for never"`
	NoAdmin              bool          `yaml:"no_admin" help:"refuse what operators ask over the network: to remove a member, to leave, to resign, another priority"`
	SecretFile           string        `yaml:"secret_file" arg:"file" empty:"none" help:"secret that all members share, as elect secret makes it; of several the first is used, all are believed"`
	Security             string        `yaml:"security" arg:"word" empty:"only the configured way is accepted" help:"migrate also accepts members that connect the previous way: in the clear, or next to tls with the secret"`
	KeepConnections      bool          `yaml:"keep_connections" help:"let connections stay after their secret or certificate was replaced; otherwise they end within a minute, and members connect again"`
	Insecure             bool          `yaml:"insecure" help:"listen to non-members without secret_file and tls: every process that reaches this node takes part, and gives orders"`
	DrainTimeout         time.Duration `yaml:"drain_timeout" empty:"5s" help:"time for which work may still run and lead when this member stops, resigns or hands over"`
	HTTP                 string        `yaml:"http" arg:"host:port" empty:"nowhere" help:"where programs and browsers look on: on this machine as 127.0.0.1:7480; other addresses need tls, http_tls or http_insecure"`
	HTTPInsecure         bool          `yaml:"http_insecure" help:"serve http in plain text beyond the loopback: every client and website that reaches it reads names, addresses, meta and status"`

	HTTPHealthWithoutCredentials bool `yaml:"http_health_without_credentials" help:"with TLS, answer /leader, /livez and /readyz without a client certificate, for load balancers; /leader tells the leader's name, address and meta"`

	Log      string   `yaml:"log" arg:"form" words:"text json" help:"form of the log"`
	LogLevel string   `yaml:"log_level" arg:"level" words:"debug info warn error" reloadable:"yes" help:"least level that is logged"`
	Meta     []string `yaml:"meta" arg:"key=value" empty:"none" reloadable:"yes" help:"what this member says of itself to others, such as http=10.0.0.1:8080; at most 1 KiB"`
	Lease    string   `yaml:"lease" arg:"word" words:"on off" help:"lead only while a quorum has granted it, so at most one node leads at any moment; off: two may, and a failover takes milliseconds"`
	Timing   struct {
		Preset       string        `yaml:"preset" flag:"preset" arg:"word" words:"local lan wan" help:"the timing for members on one machine, in one building, or far apart"`
		Heartbeat    time.Duration `yaml:"heartbeat" help:"time between two heartbeats of a leader"`
		Timeout      time.Duration `yaml:"timeout" help:"initial silence after which a peer is suspected; at least 2 heartbeats, and 1 and half a round trip"`
		MaxTimeout   time.Duration `yaml:"max_timeout" help:"maximum timeout, after false suspicions have increased it"`
		TimeoutDecay time.Duration `yaml:"timeout_decay" help:"time without a false suspicion after which the timeout decreases by a quarter of its increase"`
		RoundTrip    time.Duration `yaml:"round_trip" help:"generous bound on the round-trip time of a message, including processing"`
		MinRedial    time.Duration `yaml:"min_redial" help:"minimum delay between two dials to a required peer"`
		MaxRedial    time.Duration `yaml:"max_redial" help:"maximum delay between two dials to a required peer"`
		StartupWait  time.Duration `yaml:"startup_wait" help:"without a quorum, maximum time that a node waits at its start for members that neither answer nor refuse"`
		TimeoutOnly  bool          `yaml:"timeout_only" flag:"timeout-only" help:"suspect by silence only, for networks with firewalls that forge refusals and resets"`
	} `yaml:"timing"`
	TLS struct {
		Cert string `yaml:"cert" arg:"file" empty:"none" help:"certificate that names this member: elect://CLUSTER/member/NAME; a renewed one is taken over"`
		Key  string `yaml:"key" arg:"file" empty:"none" help:"its key, which no other user can read"`
		CA   string `yaml:"ca" arg:"file" empty:"none" help:"authority that has signed the certificates of all members"`
	} `yaml:"tls"`
	HTTPTLS struct {
		Cert string `yaml:"cert" arg:"file" empty:"that of tls" help:"certificate of the HTTP server, with the names or addresses that its clients use; a renewed one is taken over"`
		Key  string `yaml:"key" arg:"file" empty:"that of tls" help:"its key, which no other user can read"`
		CA   string `yaml:"ca" arg:"file" empty:"that of tls" help:"authority of the clients: each client certificate that it has signed may read"`
	} `yaml:"http_tls"`
}

// copyFields sets each field of the struct at to for which from has one of the same name and type. A field that is a
// struct in both is copied in the same way.
func copyFields(to, from any) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from)
	for i := range target.NumField() {
		field, value := target.Field(i), source.FieldByName(target.Type().Field(i).Name)
		switch {
		case !value.IsValid():
		case field.Type() == value.Type():
			field.Set(value)
		case field.Kind() == reflect.Struct && value.Kind() == reflect.Struct:
			copyFields(field.Addr().Interface(), value.Interface())
		}
	}
}
