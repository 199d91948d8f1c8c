package wire

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

func FuzzDecode(f *testing.F) {
	c := everything(f)
	for _, m := range []algo.Message{
		heartbeat{View: 1}, empty{}, every{}, smallest(), largestHello(),
		every{Texts: []string{"a", ""}, Members: []member{{Name: "n"}}, Leaders: make([]algo.Leader, 2), Bytes: []byte{1}},
		config{Members: make([]member, 3)},
	} {
		b, err := c.Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, b := range invalidInputs(f) {
		if len(b) < 1<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := c.Decode(b)
		if err != nil {
			checkText(t, err)
			return
		}
		again, err := c.Append(nil, m)
		if err != nil {
			t.Fatalf("%+v was decoded and cannot be encoded: %v", m, err)
		}
		same, err := c.Decode(again)
		if err != nil {
			t.Fatalf("%+v was encoded and cannot be decoded: %v", m, err)
		}
		if !reflect.DeepEqual(m, same) {
			t.Fatalf("%+v became %+v", m, same)
		}
		if len(again) > len(b) {
			t.Fatalf("%x is shorter than %x, which should be the shortest", b, again)
		}
	})
}

func FuzzHello(f *testing.F) {
	c := newCodec(f, Hello{})
	f.Add(uint16(1), uint16(1), "prod", "bully", "a=1", "n1", "127.0.0.1:7000", uint64(1), false)
	f.Add(uint16(2), uint16(1), "", "", "", "", "", uint64(0), true)
	f.Add(uint16(0), uint16(9), "\xff", "ring\n", "=", "n\x00", strings.Repeat("x", 256), uint64(1<<63), false)
	ours := Hello{MinVersion: 1, MaxVersion: Version, Cluster: "prod", Algorithm: "bully", Settings: "a=1", Name: "n0"}
	f.Fuzz(func(t *testing.T, lowest, highest uint16, cluster, algorithm, setting, name, addr string, number uint64, client bool) {
		h := Hello{
			MinVersion: lowest, MaxVersion: highest, Cluster: cluster, Algorithm: algorithm,
			Settings: setting, Name: name, Incarnation: number, Client: client, Addr: addr, Digest: number, Uptime: time.Duration(number),
		}
		b, err := c.Append(nil, h)
		fits := len(cluster) <= 64 && len(algorithm) <= 32 && len(setting) <= 512 && len(name) <= 64 && len(addr) <= 255
		for _, s := range []string{cluster, algorithm, setting, name, addr} {
			fits = fits && utf8.ValidString(s)
		}
		if fits != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "wire: cannot encode hello") {
			t.Fatalf("Append(%+v) = %v", h, err)
		}
		if err != nil {
			return
		}
		if len(b) > MaxHello {
			t.Fatalf("a hello of %d bytes", len(b))
		}
		got, err := c.Decode(b)
		if err != nil || !reflect.DeepEqual(got, h) {
			t.Fatalf("Decode = %+v, %v, want %+v", got, err, h)
		}
		there, back := ours.Check(h), h.Check(ours)
		if (there == nil) != (back == nil) {
			t.Fatalf("one side says %v, the other %v", there, back)
		}
		logged := ours.DifferingSettings(h)
		if there != nil {
			logged = append(logged, there.Error())
		}
		for _, text := range logged {
			if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Fatalf("not safe to log: %q", text)
			}
		}
	})
}
