package wire

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
)

// largestHello fills every field to its bound.
func largestHello() Hello {
	return Hello{
		MinVersion: math.MaxUint16, MaxVersion: math.MaxUint16,
		Cluster: strings.Repeat("c", 64), ClusterID: nodeA,
		Algorithm: strings.Repeat("a", 32), Settings: strings.Repeat("s", 512),
		Name: strings.Repeat("n", 64), ID: nodeA, Incarnation: math.MaxUint64,
		Client: true, Addr: strings.Repeat("h", 255), Digest: math.MaxUint64, Members: strings.Repeat("m", 512), Uptime: math.MaxInt64, Meta: strings.Repeat("k", 1024),
	}
}

func TestLargestHelloFits(t *testing.T) {
	b, err := newCodec(t, Hello{}).Append(nil, largestHello())
	if err != nil || len(b) > MaxHello {
		t.Errorf("Append = %d bytes, %v, want at most %d", len(b), err, MaxHello)
	}
}

func TestHelloCheck(t *testing.T) {
	nodeB := algo.NodeID{0xff}
	ours := Hello{MinVersion: 1, MaxVersion: 2, Cluster: "prod", ClusterID: nodeA, Algorithm: "bully", Name: "n1", ID: nodeA, Members: "[a:1]"}
	for _, test := range []struct {
		name string
		peer func(h *Hello)
		want string
	}{
		{"the same", func(h *Hello) {}, ""},
		{"a newer version that still speaks ours", func(h *Hello) { h.MinVersion, h.MaxVersion = 2, 9 }, ""},
		{"versions too new", func(h *Hello) { h.MinVersion, h.MaxVersion = 3, 4 },
			"wire: peer n2 speaks protocol version 3 to 4, this node speaks 1 to 2"},
		{"versions too old", func(h *Hello) { h.MinVersion, h.MaxVersion = 0, 0 },
			"wire: peer n2 speaks protocol version 0, this node speaks 1 to 2"},
		{"a range that is empty", func(h *Hello) { h.MinVersion, h.MaxVersion = 2, 1 },
			"wire: peer n2 speaks protocol version 2 to 1, this node speaks 1 to 2"},
		{"another cluster", func(h *Hello) { h.Cluster = "te\nst" },
			`wire: peer n2 has cluster name "te\nst", this node has "prod"`},
		{"no cluster", func(h *Hello) { h.Cluster = "" }, `wire: peer n2 has cluster name "", this node has "prod"`},
		{"another cluster of the same name", func(h *Hello) { h.ClusterID = nodeB },
			"wire: peer n2 has cluster id ff000000-0000-0000-0000-000000000000, this node has 00010203-0405-0607-0809-0a0b0c0d0e0f"},
		{"another list of members", func(h *Hello) { h.ClusterID, h.Members = nodeB, "[b:1\x1b]" },
			`wire: peer n2 has list of members "[b:1\x1b]", this node has "[a:1]"`},
		{"a list that was changed since", func(h *Hello) { h.Members = "[b:1]" }, ""},
		{"no list", func(h *Hello) { h.ClusterID, h.Members = nodeB, "" },
			"wire: peer n2 has cluster id ff000000-0000-0000-0000-000000000000, this node has 00010203-0405-0607-0809-0a0b0c0d0e0f"},
		{"a cluster id not yet known", func(h *Hello) { h.ClusterID = algo.NodeID{} }, ""},
		{"another algorithm", func(h *Hello) { h.Algorithm = "ring" },
			`wire: peer n2 runs algorithm "ring", this node runs "bully"`},
		{"an odd name", func(h *Hello) { h.Name, h.Algorithm = "n\x1b2", "ring" },
			`wire: peer "n\x1b2" runs algorithm "ring", this node runs "bully"`},
		{"no name", func(h *Hello) { h.Name, h.ID, h.Algorithm = "", nodeB, "ring" },
			`wire: peer ff000000-0000-0000-0000-000000000000 runs algorithm "ring", this node runs "bully"`},
		{"other settings", func(h *Hello) { h.Settings = "a=1" }, ""},
		{"a client", func(h *Hello) { h.Client, h.ClusterID, h.Algorithm = true, nodeB, "" }, ""},
		{"a client of any cluster", func(h *Hello) { h.Client, h.Cluster = true, "" }, ""},
		{"a client of another cluster", func(h *Hello) { h.Client, h.Cluster = true, "test" },
			`wire: client n2 has cluster name "test", this node has "prod"`},
		{"a client too new", func(h *Hello) { h.Client, h.Name, h.MinVersion, h.MaxVersion = true, "", 7, 7 },
			`wire: client speaks protocol version 7, this node speaks 1 to 2`},
	} {
		t.Run(test.name, func(t *testing.T) {
			peer := ours
			peer.Name = "n2"
			test.peer(&peer)
			err := ours.Check(peer)
			if (test.want == "") != (err == nil) || err != nil && err.Error() != test.want {
				t.Errorf("Check = %v, want %q", err, test.want)
			}
			var mismatch *MismatchError
			if err != nil && !errors.As(err, &mismatch) {
				t.Errorf("Check = %T, want a MismatchError", err)
			}
			if back := peer.Check(ours); (back == nil) != (err == nil) {
				t.Errorf("one side says %v, the other %v", err, back)
			}
		})
	}
}

func TestDifferingSettings(t *testing.T) {
	for _, test := range []struct {
		name         string
		ours, theirs string
		want         []string
	}{
		{"none", "", "", nil},
		{"the same", "a=1\nb=2", "a=1\nb=2", nil},
		{"a value", "a=1\nb=2\nc=3", "a=1\nb=3\nc=4", []string{"b", "c"}},
		{"one that only they have", "b=2", "a=1\nb=2", []string{"a"}},
		{"one that only we have", "a=1\nb=2", "b=2", []string{"a"}},
		{"only we have some", "a=1", "", []string{"a"}},
		{"nonsense", "", "\nx\ty=1\n=\na", []string{`""`, `"x\ty"`, "a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Hello{Settings: test.ours}.DifferingSettings(Hello{Settings: test.theirs})
			if !slices.Equal(got, test.want) {
				t.Errorf("Differing = %q, want %q", got, test.want)
			}
		})
	}
}

func TestSettingsFormat(t *testing.T) {
	long := strings.Repeat("x", 40)
	got := Settings([]algo.Setting{
		{Name: "timeout", Value: "150ms"},
		{Name: "answer", Value: "1s"},
		{Name: long, Value: "1"},
		{Name: "ünï", Value: "\xff"},
	})
	if want := "answer=1s\ntimeout=150ms\n" + long + "=1\nünï=?"; got != want {
		t.Errorf("Settings = %q, want %q", got, want)
	}
	if Settings(nil) != "" {
		t.Error("Settings of nothing are something")
	}
}

func TestSettingsFitHello(t *testing.T) {
	c := newCodec(t, Hello{})
	var many []algo.Setting
	for i := range 40 {
		many = append(many, algo.Setting{Name: strings.Repeat("ü", i), Value: strings.Repeat("€", 40-i)})
	}
	h := Hello{Settings: Settings(many)}
	if len(h.Settings) > 512 || len(h.Settings) < 500 {
		t.Errorf("Settings of 40 have %d bytes, want nearly 512", len(h.Settings))
	}
	if _, err := c.Append(nil, h); err != nil {
		t.Error(err)
	}
	// A difference in the settings that do not fit is still reported, as "...".
	for i := range many {
		other := slices.Clone(many)
		other[i].Value += "x"
		if got := h.DifferingSettings(Hello{Settings: Settings(other)}); !slices.Contains(got, "...") {
			t.Errorf("Differing = %q, want what is left out among them", got)
		}
	}
}

// A hello is not periodic. Without this check, a periodic one would be read as one of version 0.
func TestPeriodicHelloIsRejected(t *testing.T) {
	h := Hello{MinVersion: Version, MaxVersion: Version, Cluster: "elect"}
	read := func(m algo.Message) (Hello, error) {
		frame, err := HelloCodec.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		return ReadHello(frame)
	}
	if got, err := read(h); err != nil || got.Cluster != h.Cluster {
		t.Errorf("Read = %+v, %v, want what was said", got, err)
	}
	if got, err := read(algo.Periodic{Message: h}); err == nil || err.Error() != "wire: cannot decode hello: is said again" {
		t.Errorf("Read of a repeat = %+v, %v, want an error", got, err)
	}
}
