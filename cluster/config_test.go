package cluster_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/bully"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/store"
)

// good returns valid settings.
func good() cluster.Config {
	return cluster.Config{Name: "n1", Listen: "10.0.0.1:7400", DataDir: "data", Insecure: true, Lease: lease.Off}
}

func problems(err error) []*algo.SettingError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*algo.SettingError
		for _, err := range joined.Unwrap() {
			all = append(all, problems(err)...)
		}
		return all
	}
	var mistake *algo.SettingError
	if !errors.As(err, &mistake) {
		return nil
	}
	return []*algo.SettingError{mistake}
}

func TestInvalidConfigIsRejected(t *testing.T) {
	ms := time.Millisecond
	const bothWays = ", want a quorum, which bully with lease: off does not have: drop lease: off, choose algorithm vote, or set one list of members on all nodes instead"
	cases := []struct {
		name   string
		change func(c *cluster.Config)
		want   string // substring of the error
		field  string
	}{
		{"no address", func(c *cluster.Config) { c.Listen = "" }, `listen is "", want host:port (it is empty)`, "listen"},
		{"control characters in an address", func(c *cluster.Config) { c.Listen = "10.0.0.1\x1b[2J:7400" }, `listen is "10.0.0.1\x1b[2J:7400", want host:port (it is not plain text)`, "listen"},
		{"control characters in members", func(c *cluster.Config) { c.Members = []string{"\x1b[2J:7400"} }, `members is "\x1b[2J:7400", want this member's own address`, "members"},
		{"no port", func(c *cluster.Config) { c.Listen = "10.0.0.1" }, `listen is "10.0.0.1", want host:port (missing port in address)`, "listen"},
		{"named port", func(c *cluster.Config) { c.Listen = "10.0.0.1:http" }, `the port "http" is not a number from 0 to 65535`, "listen"},
		{"large port", func(c *cluster.Config) { c.Listen = "10.0.0.1:65536" }, `the port "65536" is not a number`, "listen"},
		{"long address", func(c *cluster.Config) { c.Listen = strings.Repeat("a", 260) + ":1" }, "more than 255 characters", "listen"},
		{"all interfaces", func(c *cluster.Config) { c.Listen = ":7400" }, "advertise is empty, want host:port as the others dial it, for listen (:7400) names no host", "advertise"},
		{"0.0.0.0", func(c *cluster.Config) { c.Listen = "0.0.0.0:7400" }, "advertise is empty", "advertise"},
		{"[::]", func(c *cluster.Config) { c.Listen = "[::]:0" }, "advertise is empty", "advertise"},
		{"advertise 0.0.0.0", func(c *cluster.Config) { c.Advertise = "0.0.0.0:7400" }, "the host 0.0.0.0 stands for all of a machine's own", "advertise"},
		{"advertise [::]", func(c *cluster.Config) { c.Advertise = "[::]:7400" }, "the host :: stands for", "advertise"},
		{"advertise port 0", func(c *cluster.Config) { c.Advertise = "10.0.0.1:0" }, "the port is 0", "advertise"},
		{"advertise no host", func(c *cluster.Config) { c.Advertise = ":7400" }, "the host is missing", "advertise"},
		{"advertise as listen, 0.0.0.0", func(c *cluster.Config) { c.Listen, c.Advertise = "0.0.0.0:7400", "0.0.0.0:7400" }, "the host 0.0.0.0 stands for", "advertise"},
		{"advertise as listen, no host", func(c *cluster.Config) { c.Listen, c.Advertise = ":7400", ":7400" }, "the host is missing", "advertise"},
		{"advertise as listen, port 0", func(c *cluster.Config) { c.Listen, c.Advertise = "10.0.0.1:0", "10.0.0.1:0" }, "the port is 0", "advertise"},
		{"seed without a port", func(c *cluster.Config) { c.Join = []string{"10.0.0.2:7400", "10.0.0.3"} }, `join[1] is "10.0.0.3", want host:port`, "join[1]"},
		{"member without a host", func(c *cluster.Config) { c.Members = []string{"10.0.0.1:7400", "0.0.0.0:1"} }, `members[1] is "0.0.0.0:1"`, "members[1]"},
		{"member twice", func(c *cluster.Config) { c.Members = []string{"10.0.0.1:7400", "10.0.0.1:7400"} }, "want each address once", "members[1]"},
		{"own address not among the members", func(c *cluster.Config) { c.Members = []string{"10.0.0.2:7400"} }, "want this member's own address among them (10.0.0.1:7400)", "members"},
		{"too many seeds", func(c *cluster.Config) { c.Join = make([]string, 513) }, "join is 513 addresses, want at most 512", "join"},
		{"join and members", func(c *cluster.Config) { c.Join, c.Members = []string{"10.0.0.2:1"}, []string{"10.0.0.1:7400"} }, "members is set beside join, want one of the two", "members"},
		{"join without a quorum", func(c *cluster.Config) { c.Join = []string{"10.0.0.2:1"} }, "join is set" + bothWays, "join"},
		{"bootstrap without a quorum", func(c *cluster.Config) { c.Bootstrap = true }, "bootstrap is true" + bothWays, "bootstrap"},
		{"removal without a quorum", func(c *cluster.Config) { c.RemoveSuspectedAfter = time.Minute }, "remove_suspected_after is 1m0s" + bothWays, "remove_suspected_after"},
		{"drain below 0", func(c *cluster.Config) { c.DrainTimeout = -1 }, "drain_timeout is -1ns, want not below 0", "drain_timeout"},
		{"drain of the lease", func(c *cluster.Config) { c.Lease.DrainTimeout = time.Second }, "lease.drain_timeout is 1s, want 0: drain_timeout of the node counts", "lease.drain_timeout"},
		{"only the drain of the lease", func(c *cluster.Config) { c.Lease = lease.Options{DrainTimeout: time.Second} }, "lease.drain_timeout is 1s, want 0", "lease.drain_timeout"},
		{"name with a space", func(c *cluster.Config) { c.Name = "n 1" }, `name is "n 1", want 1 to 64 letters, digits, '.', '-' or '_'`, "name"},
		{"long name", func(c *cluster.Config) { c.Name = strings.Repeat("n", 65) }, "want 1 to 64 letters", "name"},
		{"invalid cluster name", func(c *cluster.Config) { c.Cluster = "é" }, `cluster is "é"`, "cluster"},
		{"unknown algorithm", func(c *cluster.Config) { c.Algorithm = builtin.Lookup("raft") }, `algorithm is "raft", want one of bully`, "algorithm"},
		{"zero heartbeat", func(c *cluster.Config) { c.Timing = algo.LAN(); c.Timing.Heartbeat = 0 }, "timing.heartbeat is 0s, want from", "timing.heartbeat"},
		{"timeout below the heartbeats", func(c *cluster.Config) { c.Timing = algo.LAN(); c.Timing.Timeout = 99 * ms }, "timing.timeout is 99ms, want at least", "timing.timeout"},
		{"timeout below the network", func(c *cluster.Config) {
			c.Timing = algo.LAN()
			c.Timing.Heartbeat, c.Timing.Timeout, c.Timing.RoundTrip = 50*ms, 340*ms, 600*ms
		}, "timing.timeout is 340ms, want at least a heartbeat and half a round trip (350ms)", "timing.timeout"},
		{"zero round trip", func(c *cluster.Config) { c.Timing = algo.LAN(); c.Timing.RoundTrip = 0 }, "timing.round_trip is 0s, want more than 0", "timing.round_trip"},
		{"negative startup wait", func(c *cluster.Config) { c.Timing = algo.LAN(); c.Timing.StartupWait = -1 }, "timing.startup_wait is -1ns, want from 0 to 1h0m0s", "timing.startup_wait"},
		{"huge startup wait", func(c *cluster.Config) { c.Timing = algo.LAN(); c.Timing.StartupWait = 1<<63 - 1 }, "want from 0 to 1h0m0s", "timing.startup_wait"},
		{"too small option", func(c *cluster.Config) {
			c.Algorithm = bully.With(func(o *bully.Options) { o.AnswerTimeout = ms })
		}, "bully.answer_timeout is 1ms, want at least the round trip (" + algo.LAN().RoundTrip.String() + ")", "bully.answer_timeout"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config := good()
			c.change(&config)
			_, err := cluster.New(config)
			require.ErrorContains(t, err, c.want)
			var fields []string
			for _, mistake := range problems(err) {
				fields = append(fields, mistake.Field)
			}
			require.Contains(t, fields, c.field)
		})
	}
}

func TestAllConfigErrorsAreReportedTogether(t *testing.T) {
	_, err := cluster.New(cluster.Config{
		Cluster: "a b", Name: "c d", Listen: "x", Join: []string{"y"}, Algorithm: builtin.Lookup("raft"),
		Timing: algo.Timing{Heartbeat: 1},
	})
	fields := make(map[string]bool)
	for _, mistake := range problems(err) {
		require.NotEmpty(t, mistake.Got)
		require.NotEmpty(t, mistake.Want)
		fields[mistake.Field] = true
	}
	for _, field := range []string{"cluster", "name", "listen", "join[0]", "algorithm", "timing.heartbeat", "timing.round_trip"} {
		require.True(t, fields[field], "%s is not in %v", field, fields)
	}

	config := good()
	config.Algorithm = bully.With(func(o *bully.Options) { *o = bully.Options{} })
	_, err = cluster.New(config)
	require.Len(t, problems(err), 3)
	require.Equal(t, "bully.answer_timeout", problems(err)[0].Field)
}

// A node sets Lease.DrainTimeout in its settings, and these settings are valid for another node. A Lease with no other
// field means the default.
func TestLeaseDrainTimeoutOfNodeIsAccepted(t *testing.T) {
	config := good()
	config.Lease, config.DrainTimeout = lease.Options{DrainTimeout: time.Minute}, time.Minute
	n, err := cluster.New(config)
	require.NoError(t, err)
	want := lease.Defaults(algo.LAN())
	want.DrainTimeout = time.Minute
	require.Equal(t, want, n.Config().Lease)

	again, err := cluster.New(n.Config())
	require.NoError(t, err)
	require.Equal(t, want, again.Config().Lease)

	config.Lease.DrainTimeout = time.Second
	_, err = cluster.New(config)
	require.Len(t, problems(err), 1)
}

func TestErrorOfOptionsIsReturned(t *testing.T) {
	wrong := errors.New("no option colour")
	config := good()
	config.Algorithm = func(t algo.Timing, _ func(any) error) (algo.Spec, error) {
		return bully.Factory(t, func(any) error { return wrong })
	}
	_, err := cluster.New(config)
	require.ErrorIs(t, err, wrong)
}

func TestDefaults(t *testing.T) {
	n, err := cluster.New(cluster.Config{Listen: "10.0.0.1:7400", Insecure: true, Lease: lease.Off})
	require.NoError(t, err)
	c := n.Config()
	require.Equal(t, "elect", c.Cluster)
	spec, err := c.Algorithm(c.Timing, nil)
	require.NoError(t, err)
	require.Equal(t, "bully", spec.Name)
	require.Equal(t, "10.0.0.1:7400", c.Advertise)
	require.Equal(t, algo.LAN(), c.Timing)
	require.NotEmpty(t, c.Name)
}

func TestNodeCopiesConfig(t *testing.T) {
	config := good()
	config.Members = []string{"10.0.0.1:7400", "10.0.0.2:7400"}
	n, err := cluster.New(config)
	require.NoError(t, err)
	config.Members[1] = "changed"
	require.Equal(t, "10.0.0.2:7400", n.Config().Members[1])
}

func TestVoteNeedsDataOrStore(t *testing.T) {
	config := good()
	config.Algorithm = func(t algo.Timing, decode func(any) error) (algo.Spec, error) {
		spec, err := bully.Factory(t, decode)
		spec.Name, spec.Claims.NeedsQuorum = "vote", true
		return spec, err
	}
	_, err := cluster.New(config)
	require.NoError(t, err)
	config.DataDir = ""
	config.Store = store.NewMemory()
	_, err = cluster.New(config)
	require.NoError(t, err)
	config.Store = nil
	config.Name, config.Timing = "n 1", algo.Timing{Heartbeat: 1}
	_, err = cluster.New(config)
	require.ErrorContains(t, err, "data_dir is empty, want a folder: a node that forgets its vote lets vote elect two leaders")
	require.ErrorContains(t, err, "name is", "all errors are reported together")
}

func TestTooLongAlgorithmNameIsRejected(t *testing.T) {
	name := strings.Repeat("long", 20)
	config := good()
	config.Algorithm = func(t algo.Timing, decode func(any) error) (algo.Spec, error) {
		spec, err := bully.Factory(t, decode)
		spec.Name = name
		return spec, err
	}
	_, err := cluster.New(config)
	require.ErrorContains(t, err, name)
}

func TestPresets(t *testing.T) {
	for word, timing := range algo.Presets() {
		t.Run(word, func(t *testing.T) {
			config := good()
			config.Timing = timing
			_, err := cluster.New(config)
			require.NoError(t, err)
			require.Greater(t, timing.RecoveryBound(), timing.Timeout+2*timing.RoundTrip)
			require.Less(t, timing.RecoveryBound(), 30*timing.Timeout)
		})
	}
	require.Less(t, algo.Local().RecoveryBound(), algo.LAN().RecoveryBound())
	require.Less(t, algo.LAN().RecoveryBound(), algo.WAN().RecoveryBound())
}

// A textbook algorithm needs allow_textbook. With that setting all addresses must be on the loopback.
func TestTextbookNeedsPermissionAndLoopback(t *testing.T) {
	const wanted = "an address of the loopback, such as 127.0.0.1:7400, for allow_textbook is set"
	local := func(change func(c *cluster.Config)) cluster.Config {
		c := cluster.Config{Name: "n1", Listen: "127.0.0.1:7400", DataDir: "data", Algorithm: builtin.Lookup("textbook-bully"), AllowTextbook: true, Lease: lease.Off}
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		change func(c *cluster.Config)
		field  string // of the error; empty if the settings are valid
		want   string
	}{
		"permitted":            {func(*cluster.Config) {}, "", ""},
		"on IPv6":              {func(c *cluster.Config) { c.Listen = "[::1]:7400" }, "", ""},
		"loopback by name":     {func(c *cluster.Config) { c.Listen = "localhost:7400" }, "", ""},
		"not permitted":        {func(c *cluster.Config) { c.AllowTextbook = false }, "algorithm", "one for use, or allow_textbook as well (--allow-textbook)"},
		"listens elsewhere":    {func(c *cluster.Config) { c.Listen = "10.0.0.1:7400" }, "listen", wanted},
		"listens everywhere":   {func(c *cluster.Config) { c.Listen, c.Advertise = ":7400", "127.0.0.1:7400" }, "listen", wanted},
		"advertised elsewhere": {func(c *cluster.Config) { c.Advertise = "n1.example:7400" }, "advertise", wanted},
		"joins elsewhere": {func(c *cluster.Config) {
			c.Lease, c.Join = lease.Defaults(algo.LAN()), []string{"127.0.0.1:7401", "10.0.0.2:7400"}
		}, "join[1]", wanted},
		"members elsewhere": {func(c *cluster.Config) { c.Members = []string{"127.0.0.1:7400", "10.0.0.2:7400"} },
			"members[1]", wanted},
		"production algorithm elsewhere": {func(c *cluster.Config) {
			c.Algorithm, c.Listen, c.Insecure = builtin.Lookup("bully"), "10.0.0.1:7400", true
			c.Members = []string{"10.0.0.1:7400", "10.0.0.2:7400"}
		}, "", ""},
		"production algorithm elsewhere without security": {func(c *cluster.Config) { c.Algorithm, c.Listen = builtin.Lookup("bully"), "10.0.0.1:7400" },
			"listen", "an address of the loopback, or secret_file: FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cluster.New(local(tc.change))
			if tc.field == "" {
				require.NoError(t, err)
				return
			}
			all := problems(err)
			require.Len(t, all, 1)
			require.Equal(t, tc.field, all[0].Field)
			require.Contains(t, all[0].Want, tc.want)
		})
	}
}
