package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/elect-go/elect/algo"
)

// The messages of these tests. every has every supported type.
type (
	every struct {
		Bool     bool
		Int      int
		Int8     int8
		Int16    int16
		Int32    int32
		Int64    int64
		Uint     uint
		Uint8    uint8
		Uint16   uint16
		Uint32   uint32
		Uint64   uint64
		Duration time.Duration
		Timer    algo.Timer
		String   string `wire:"max=40"`
		ID       algo.NodeID
		Epoch    algo.Epoch
		Leader   algo.Leader
		Member   member
		Bytes    []byte
		Bools    []bool
		Numbers  []uint64 `wire:"max=16"`
		IDs      []algo.NodeID
		Leaders  []algo.Leader
		Members  []member `wire:"max=100"`
		Texts    []string `wire:"max=3"`
		Lists    [][]int8 `wire:"max=2"`
	}
	member struct {
		ID         algo.NodeID
		Name, Addr string
		Priority   int
		Eligible   bool
	}
	heartbeat struct{ View uint64 }
	config    struct {
		Version uint64
		Members []member
	}
	empty struct{}
)

func (every) Kind() string     { return "every" }
func (heartbeat) Kind() string { return "beat" }
func (config) Kind() string    { return "config" }
func (empty) Kind() string     { return "test/empty" }

func newCodec(t testing.TB, messages ...algo.Message) *Codec {
	t.Helper()
	c, err := NewCodec(messages...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func everything(t testing.TB) *Codec {
	return newCodec(t, every{}, heartbeat{}, config{}, empty{}, Hello{})
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// nodeA is 00010203-0405-0607-0809-0a0b0c0d0e0f.
var nodeA = algo.NodeID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// largest has the largest value in every field.
func largest() every {
	m := member{ID: nodeA, Name: strings.Repeat("n", 255), Addr: strings.Repeat("ä", 127), Priority: math.MinInt, Eligible: true}
	return every{
		Bool: true, Int: math.MaxInt, Int8: math.MaxInt8, Int16: math.MaxInt16, Int32: math.MaxInt32, Int64: math.MaxInt64,
		Uint: math.MaxUint, Uint8: math.MaxUint8, Uint16: math.MaxUint16, Uint32: math.MaxUint32, Uint64: math.MaxUint64,
		Duration: math.MaxInt64, Timer: "answer", String: strings.Repeat("s", 40), ID: nodeA, Epoch: algo.MaxEpoch,
		Leader: algo.Leader{Epoch: 7, ID: nodeA}, Member: m,
		Bytes:   bytes.Repeat([]byte{0xdd}, 1024),
		Bools:   slices.Repeat([]bool{true, false}, 512),
		Numbers: slices.Repeat([]uint64{0, math.MaxUint64}, 8),
		IDs:     slices.Repeat([]algo.NodeID{nodeA}, 1024),
		Leaders: slices.Repeat([]algo.Leader{{Epoch: algo.MaxEpoch, ID: nodeA}}, 1024),
		Members: slices.Repeat([]member{m}, 100),
		Texts:   []string{"", "€€"[:3], "12345"},
		Lists:   [][]int8{nil, {math.MinInt8, math.MaxInt8}},
	}
}

func smallest() every {
	return every{
		Int: math.MinInt, Int8: math.MinInt8, Int16: math.MinInt16, Int32: math.MinInt32, Int64: math.MinInt64, Duration: math.MinInt64,
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	c := everything(t)
	for _, m := range []algo.Message{
		every{}, smallest(), largest(), heartbeat{}, heartbeat{View: math.MaxUint64}, empty{}, Hello{}, largestHello(),
		algo.Periodic{Message: heartbeat{View: 7}}, algo.Periodic{Message: empty{}},
	} {
		b, err := c.Append(nil, m)
		if err != nil {
			t.Fatalf("Append(%s) = %v", m.Kind(), err)
		}
		got, err := c.Decode(b)
		if err != nil {
			t.Fatalf("Decode(Append(%s)) = %v", m.Kind(), err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("Decode(Append(m)) = %+v, want %+v", got, m)
		}
	}
}

func TestAnyMessageRoundTrips(t *testing.T) {
	c := everything(t)
	text := func(most int) *rapid.Generator[string] { return rapid.StringN(-1, -1, most) }
	id := rapid.Custom(func(t *rapid.T) (id algo.NodeID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		return id
	})
	leader := rapid.Custom(func(t *rapid.T) algo.Leader {
		return algo.Leader{Epoch: algo.Epoch(rapid.Uint64Max(uint64(algo.MaxEpoch)).Draw(t, "epoch")), ID: id.Draw(t, "id")}
	})
	one := rapid.Custom(func(t *rapid.T) member {
		return member{
			ID: id.Draw(t, "id"), Name: text(255).Draw(t, "name"), Addr: text(255).Draw(t, "addr"),
			Priority: rapid.Int().Draw(t, "priority"), Eligible: rapid.Bool().Draw(t, "eligible"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		m := every{
			Bool: rapid.Bool().Draw(t, "bool"),
			Int:  rapid.Int().Draw(t, "int"), Int8: rapid.Int8().Draw(t, "int8"), Int16: rapid.Int16().Draw(t, "int16"),
			Int32: rapid.Int32().Draw(t, "int32"), Int64: rapid.Int64().Draw(t, "int64"),
			Uint: rapid.Uint().Draw(t, "uint"), Uint8: rapid.Uint8().Draw(t, "uint8"), Uint16: rapid.Uint16().Draw(t, "uint16"),
			Uint32: rapid.Uint32().Draw(t, "uint32"), Uint64: rapid.Uint64().Draw(t, "uint64"),
			Duration: time.Duration(rapid.Int64().Draw(t, "duration")), Timer: algo.Timer(text(255).Draw(t, "timer")),
			String: text(40).Draw(t, "string"), ID: id.Draw(t, "id"), Epoch: algo.Epoch(rapid.Uint64Max(uint64(algo.MaxEpoch)).Draw(t, "epoch")),
			Leader: leader.Draw(t, "leader"), Member: one.Draw(t, "member"),
			Bytes:   orNil(rapid.SliceOfN(rapid.Byte(), 0, 1024).Draw(t, "bytes")),
			Bools:   orNil(rapid.SliceOfN(rapid.Bool(), 0, 50).Draw(t, "bools")),
			Numbers: orNil(rapid.SliceOfN(rapid.Uint64(), 0, 16).Draw(t, "numbers")),
			IDs:     orNil(rapid.SliceOfN(id, 0, 20).Draw(t, "ids")),
			Leaders: orNil(rapid.SliceOfN(leader, 0, 20).Draw(t, "leaders")),
			Members: orNil(rapid.SliceOfN(one, 0, 5).Draw(t, "members")),
			Texts:   orNil(rapid.SliceOfN(text(5), 0, 3).Draw(t, "texts")),
			Lists:   orNil(rapid.SliceOfN(rapid.Map(rapid.SliceOfN(rapid.Int8(), 0, 3), orNil), 0, 2).Draw(t, "lists")),
		}
		b, err := c.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("Decode(Append(m)) = %+v, want %+v", got, m)
		}
	})
}

func orNil[E any](s []E) []E {
	if len(s) == 0 {
		return nil
	}
	return s
}

func TestAppendKeepsPrefix(t *testing.T) {
	c := everything(t)
	got, err := c.Append([]byte("head"), heartbeat{View: 1})
	if want := "head\x92\xa4beat\x01"; err != nil || string(got) != want {
		t.Errorf("Append = %q, %v, want %q", got, err, want)
	}
	got, err = c.Append([]byte("head"), every{String: strings.Repeat("x", 41)})
	if err == nil || string(got) != "head" {
		t.Errorf("a refused Append = %q, %v, want the head alone", got, err)
	}
}

func TestDecodeDoesNotAliasInput(t *testing.T) {
	c := everything(t)
	b, err := c.Append(nil, largest())
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if !reflect.DeepEqual(got, largest()) {
		t.Error("the message changed with the bytes it came from")
	}
}

func TestMessagesDoNotShareMemory(t *testing.T) {
	c := everything(t)
	b, err := c.Append(nil, largest())
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	b, _ = c.Append(b[:0], every{Numbers: []uint64{9}, Bytes: []byte{9}, Bools: []bool{false}})
	if _, err := c.Decode(b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, largest()) {
		t.Error("decoding a second message changed the first")
	}
}

func TestAppendRejectsWhatDecodeRejects(t *testing.T) {
	c := everything(t)
	for _, test := range []struct {
		name string
		m    algo.Message
		want string
	}{
		{"a string too long", every{String: strings.Repeat("x", 41)},
			"wire: cannot encode every.String: has 41 bytes, at most 40 are allowed"},
		{"without a tag", every{Timer: algo.Timer(strings.Repeat("x", 256))},
			"wire: cannot encode every.Timer: has 256 bytes, at most 255 are allowed"},
		{"in a struct", every{Member: member{Addr: strings.Repeat("x", 256)}},
			"wire: cannot encode every.Member.Addr: has 256 bytes, at most 255 are allowed"},
		{"in a slice of structs", every{Members: []member{{}, {Name: strings.Repeat("x", 256)}}},
			"wire: cannot encode every.Members.Name: has 256 bytes, at most 255 are allowed"},
		{"in a slice of strings", every{Texts: []string{strings.Repeat("x", 256)}},
			"wire: cannot encode every.Texts: has 256 bytes, at most 255 are allowed"},
		{"not UTF-8", every{String: "\xff"}, "wire: cannot encode every.String: is not valid UTF-8"},
		{"a slice too long", every{Texts: make([]string, 4)},
			"wire: cannot encode every.Texts: has 4 elements, at most 3 are allowed"},
		{"a slice without a tag", every{IDs: make([]algo.NodeID, 1025)},
			"wire: cannot encode every.IDs: has 1025 elements, at most 1024 are allowed"},
		{"a slice in a slice", every{Lists: [][]int8{make([]int8, 1025)}},
			"wire: cannot encode every.Lists: has 1025 elements, at most 1024 are allowed"},
		{"bytes", every{Bytes: make([]byte, 1025)},
			"wire: cannot encode every.Bytes: has 1025 bytes, at most 1024 are allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.Append(nil, test.m)
			if err == nil || err.Error() != test.want {
				t.Errorf("Append = %v, want %s", err, test.want)
			}
		})
	}
}

func TestUnknownMessageIsRejected(t *testing.T) {
	c := newCodec(t, heartbeat{})
	for _, m := range []algo.Message{nil, empty{}, &heartbeat{}, (*heartbeat)(nil), example{},
		algo.Periodic{}, algo.Periodic{Message: example{}}, algo.Periodic{Message: algo.Periodic{Message: heartbeat{}}}} {
		inner, _ := algo.Unwrap(m)
		_, err := c.Append(nil, m)
		if want := fmt.Sprintf("wire: cannot encode message: %T is not registered", inner); err == nil || err.Error() != want {
			t.Errorf("Append(%T) = %v, want %s", m, err, want)
		}
	}
	_, err := c.Decode([]byte("\x93\xa4boat\x01\x02"))
	if want := `wire: cannot decode message: its kind is unknown: boat`; err == nil || err.Error() != want {
		t.Errorf("Decode = %v, want %s", err, want)
	}
	for odd, kind := range map[string]string{"\x92\xa6beat++\x01": "beat+", "\x92\xa1+\x01": "", "\x92\xa5+beat\x01": "+beat"} {
		m, err := c.Decode([]byte(odd))
		if want := fmt.Sprintf("wire: cannot decode message: its kind is unknown: %q", kind); err == nil || err.Error() != want {
			t.Errorf("Decode(%q) = %v, %v, want %s", odd, m, err, want)
		}
	}
	_, err = c.Decode([]byte("\x91\xd9\x2e" + "line\nbreak\xff\x1b[31m" + strings.Repeat("x", 30)))
	if want := `wire: cannot decode message: its kind is unknown: "line\nbreak\xff\x1b[31mxxxxxxxxxxxxxxxx" and so on, 46 bytes`; err == nil || err.Error() != want {
		t.Errorf("Decode = %v, want %s", err, want)
	}
}

func TestKinds(t *testing.T) {
	want := []string{"beat", "config", "every", "hello", "test/empty"}
	if got := everything(t).Kinds(); !slices.Equal(got, want) {
		t.Errorf("Kinds() = %q, want %q", got, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := everything(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			want := every{Uint64: uint64(i), Texts: []string{strings.Repeat("x", i%5+1)}, ID: algo.NodeID{byte(i)}}
			var b []byte
			for range 200 {
				var err error
				if b, err = c.Append(b[:0], want); err != nil {
					t.Error(err)
					return
				}
				if got, err := c.Decode(b); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("Decode = %+v, %v, want %+v", got, err, want)
					return
				}
			}
		})
	}
	group.Wait()
}
