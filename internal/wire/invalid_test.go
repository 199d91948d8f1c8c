package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

// invalidInputs returns inputs that a codec must reject without many allocations.
func invalidInputs(t testing.TB) map[string][]byte {
	const mega = 2 << 20
	return map[string][]byte{
		"nothing":                     {},
		"a long array":                unhex(t, "dd ff ff ff ff"),
		"a long map":                  unhex(t, "df ff ff ff ff"),
		"a long string":               unhex(t, "db ff ff ff ff"),
		"a long binary":               unhex(t, "c6 ff ff ff ff"),
		"a long extension":            unhex(t, "c9 ff ff ff ff"),
		"a long kind":                 unhex(t, "92 db ff ff ff ff"),
		"a long kind in a long array": unhex(t, "dd ff ff ff ff db ff ff ff ff"),
		"a long message":              append(unhex(t, "dd ff ff ff ff"), "\xa4beat\x01"...),
		"a binary for a kind":         append(unhex(t, "92 c4 04"), "beat\x01"...),
		"nil for a kind":              unhex(t, "92 c0 01"),
		"no kind":                     unhex(t, "90"),
		"nil":                         unhex(t, "c0"),
		"no msgpack":                  unhex(t, "c1"),
		"nested arrays":               bytes.Repeat([]byte{0x91}, mega),
		"nested long arrays":          bytes.Repeat(unhex(t, "dd ff ff ff ff"), mega/5),
		"nested maps":                 bytes.Repeat([]byte{0x81}, mega),
		"nested arrays for a field":   append([]byte("\x92\xa4beat"), bytes.Repeat([]byte{0x91}, mega)...),
		"nested arrays to skip":       append([]byte("\x93\xa4beat\x01"), bytes.Repeat([]byte{0x91}, mega)...),
		"nested maps to skip":         append([]byte("\x93\xa4beat\x01"), bytes.Repeat([]byte{0x81}, mega)...),
		"nested long maps to skip":    append([]byte("\x93\xa4beat\x01"), bytes.Repeat(unhex(t, "df ff ff ff ff"), mega/5)...),
		"a long array to skip":        append([]byte("\x93\xa4beat\x01"), unhex(t, "dd ff ff ff ff")...),
		"a long map to skip":          append([]byte("\x93\xa4beat\x01"), unhex(t, "df ff ff ff ff")...),
		"a long string to skip":       append([]byte("\x93\xa4beat\x01"), unhex(t, "db ff ff ff ff")...),
		"a long binary to skip":       append([]byte("\x93\xa4beat\x01"), unhex(t, "c6 ff ff ff ff")...),
		"a long extension to skip":    append([]byte("\x93\xa4beat\x01"), unhex(t, "c9 ff ff ff ff 01")...),
		"no msgpack to skip":          append([]byte("\x93\xa4beat\x01"), 0xc1),
		"a long slice of structs":     append([]byte("\x93\xa6config\x01"), unhex(t, "dd ff ff ff ff")...),
		"a slice with nothing in it":  append([]byte("\x93\xa6config\x01"), unhex(t, "dc 04 00")...),
		"a slice of too few bytes":    append([]byte("\x93\xa6config\x01\xdc\x04\x00"), make([]byte, 1024)...),
		"a slice of nested arrays":    append([]byte("\x93\xa6config\x01\x91"), bytes.Repeat([]byte{0x91}, mega)...),
		"too many fields, all nil":    append([]byte("\xdd\x00\x00\xff\xff\xa4beat\x01"), bytes.Repeat([]byte{0xc0}, 1<<16)...),
	}
}

func TestInvalidInputIsRejected(t *testing.T) {
	c := everything(t)
	for name, b := range invalidInputs(t) {
		t.Run(name, func(t *testing.T) {
			m, err := c.Decode(b)
			if m != nil || err == nil || !strings.HasPrefix(err.Error(), "wire: cannot decode ") {
				t.Fatalf("Decode = %v, %v, want an error", m, err)
			}
			checkText(t, err)
		})
	}
}

// checkText fails unless an error can be logged unchanged.
func checkText(t testing.TB, err error) {
	t.Helper()
	text := err.Error()
	if len(text) > 600 {
		t.Errorf("an error of %d bytes: %.200s…", len(text), text)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("an error that is not safe to log: %q", text)
	}
}

func TestWrongFieldsAreNamed(t *testing.T) {
	type test struct{ name, hex, want string }
	check := func(c *Codec, tests []test) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				m, err := c.Decode(unhex(t, test.hex))
				if want := "wire: cannot decode " + test.want; err == nil || err.Error() != want {
					t.Errorf("Decode = %v, %v, want %s", m, err, want)
				}
			})
		}
	}
	const beat = "a462656174"
	check(newCodec(t, heartbeat{}), []test{
		{"empty", "", "message: is cut short"},
		{"no array", "80", "message: is a map, want an array"},
		{"no kind", "90", "message: is empty, want a kind"},
		{"a number for a kind", "9101", "message: its kind is an integer, want a string"},
		{"half a kind", "92a46265", "message: its kind is cut short"},
		{"no field", "91" + beat, "beat.View: is missing: 0 of 1 fields are there"},
		{"no value", "92" + beat, "beat.View: is cut short"},
		{"half a number", "92" + beat + "cd01", "beat.View: is cut short"},
		{"a trailing byte", "92" + beat + "01c0", "beat: has bytes after its end: 1"},
		{"a trailing byte that says nothing", "92" + beat + "0100", "beat: has bytes after its end: 1"},
		{"trailing bytes", "92" + beat + "01c0c0", "beat: has bytes after its end: 2"},
		{"nil", "92" + beat + "c0", "beat.View: is nil, want an integer"},
		{"a float", "92" + beat + "cb3ff0000000000000", "beat.View: is a float, want an integer"},
		{"a string", "92" + beat + "a131", "beat.View: is a string, want an integer"},
		{"-1", "92" + beat + "ff", "beat.View: is -1, which does not fit uint64"},
		{"-128", "92" + beat + "d080", "beat.View: is -128, which does not fit uint64"},
		{"-2^63", "92" + beat + "d38000000000000000", "beat.View: is -9223372036854775808, which does not fit uint64"},
		{"an unknown field cut short", "93" + beat + "01", "beat: a field after the last known one is cut short"},
		{"an unknown field that is nested too deep", "93" + beat + "01" + strings.Repeat("91", 9) + "c0",
			"beat: a field after the last known one is nested too deep"},
	})
	const small = "96" + beat
	id := "c410" + strings.Repeat("07", 16)
	check(newCodec(t, example{}), []test{
		{"a string for an id", small + "b0" + strings.Repeat("31", 16) + "01c290a0a0", "beat.From: is a string, want binary data"},
		{"15 bytes for an id", small + "c40f" + strings.Repeat("07", 15) + "01c290a0a0", "beat.From: has length 15, want the 16 bytes of a node id"},
		{"an id that is too long", small + "c415" + strings.Repeat("07", 21), "beat.From: has length 21, want the 16 bytes of a node id"},
		{"a number for a boolean", small + id + "010190a0", "beat.Alive: is an integer, want a boolean"},
		{"200 for an int8", small + id + "01c291ccc8a0", "beat.Load: is 200, which does not fit int8"},
		{"2^63 for an int8", small + id + "01c291cf8000000000000000a0", "beat.Load: is 9223372036854775808, which does not fit int8"},
		{"nil for a slice", small + id + "01c2c0a0", "beat.Load: is nil, want an array"},
		{"1025 elements", small + id + "01c2dc0401" + strings.Repeat("00", 1025) + "a0", "beat.Load: has 1025 elements, at most 1024 are allowed"},
		{"a slice longer than the rest", small + id + "01c29300a0", "beat.Load: is cut short"},
		{"binary data for a string", small + id + "01c290c40131", "beat.Name: is binary data, want a string"},
		{"not UTF-8", small + id + "01c290a2c328", "beat.Name: is not valid UTF-8"},
		{"a string cut by a byte", small + id + "01c290a26e", "beat.Name: is cut short"},
		{"256 bytes", small + id + "01c290da0100" + strings.Repeat("31", 256), "beat.Name: has 256 bytes, at most 255 are allowed"},
	})
	check(newCodec(t, Hello{}), []test{
		{"70000 for a uint16", "dc0010a568656c6c6f" + "ce00011170" + strings.Repeat("c0", 60), "hello.MinVersion: is 70000, which does not fit uint16"},
		{"a setting too long", "dc0010a568656c6c6f" + "0101a0" + id + "a0da0201" + strings.Repeat("31", 600), "hello.Settings: has 513 bytes, at most 512 are allowed"},
	})
	check(newCodec(t, every{}), []test{
		{"2^63 for an int", "dc001ba56576657279" + "c3cf8000000000000000" + strings.Repeat("c0", 30), "every.Int: is 9223372036854775808, which does not fit int"},
	})
	check(newCodec(t, config{}), []test{
		{"a struct with too few fields", "93a6636f6e666967" + "01" + "91" + "93" + id + "a0a0c0c0", "config.Members.Priority: is missing: 3 of 5 fields are there"},
		{"a struct that is none", "93a6636f6e666967" + "01" + "91" + id + "a0a0c0c000", "config.Members: is binary data, want an array"},
	})
}

// numbered is a message with an epoch.
type numbered struct{ Epoch algo.Epoch }

func (numbered) Kind() string { return "n" }

func TestEpochAfterLastIsRejected(t *testing.T) {
	c := newCodec(t, numbered{})
	last := numbered{algo.MaxEpoch}
	b, err := c.Append(nil, last)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := c.Decode(b); m != last || err != nil {
		t.Errorf("Decode = %v, %v, want the last epoch", m, err)
	}
	const want = "n.Epoch: is 9223372036854775808, want an epoch of at most 9223372036854775807"
	if _, err := c.Decode(unhex(t, "92a16ecf8000000000000000")); err == nil || err.Error() != "wire: cannot decode "+want {
		t.Errorf("Decode says %v, want %s", err, want)
	}
	if _, err := c.Append(nil, numbered{algo.MaxEpoch + 1}); err == nil || err.Error() != "wire: cannot encode "+want {
		t.Errorf("Append says %v, want %s", err, want)
	}
}

func TestIntegersOfAnyWidthAreRead(t *testing.T) {
	c := newCodec(t, heartbeat{})
	for _, five := range []string{"05", "cc05", "cd0005", "ce00000005", "cf0000000000000005", "d005", "d10005", "d200000005", "d30000000000000005"} {
		got, err := c.Decode(unhex(t, "92 a462656174"+five))
		if want := (heartbeat{View: 5}); err != nil || got != algo.Message(want) {
			t.Errorf("with %s: Decode = %+v, %v, want %+v", five, got, err, want)
		}
	}
}

func TestTruncatedInputIsRejected(t *testing.T) {
	c := everything(t)
	m := largest()
	m.IDs, m.Leaders, m.Members, m.Bytes, m.Bools = m.IDs[:2], m.Leaders[:2], m.Members[:2], m.Bytes[:3], m.Bools[:3]
	for _, m := range []algo.Message{m, largestHello()} {
		b, err := c.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			if got, err := c.Decode(b[:n]); err == nil {
				t.Fatalf("the first %d of %d bytes of %s decode to %+v", n, len(b), m.Kind(), got)
			}
		}
	}
}

func TestFieldsOfNewerPeerAreSkipped(t *testing.T) {
	c := everything(t)
	for _, extra := range []string{
		"c0", "c2", "c3", "00", "7f", "ff", "e0", "cc01", "cd0101", "ce01010101", "cf0101010101010101",
		"d001", "d10101", "d201010101", "d30101010101010101", "ca01010101", "cb0101010101010101",
		"a0", "a131", "d90131", "da000131", "db0000000131", "c400", "c40101", "c5000101", "c60000000101",
		"d40101", "d5010101", "d60101010101", "d7010101010101010101", "d801" + strings.Repeat("01", 16),
		"c7010101", "c800010101", "c90000000101 01",
		"90", "9101", "920102", "dc000101", "dd0000000101", "80", "810102", "de00010102", "df000000010102",
		"92 92 01 02 92 03 81 04 05", "82 01 90 02 80",
		strings.Repeat("91", 8) + "00", strings.Repeat("91", 8) + "90", strings.Repeat("8100", 8) + "00",
	} {
		got, err := c.Decode(unhex(t, "94 a462656174 05"+extra+"c0"))
		if want := (heartbeat{View: 5}); err != nil || got != algo.Message(want) {
			t.Errorf("with %s: Decode = %+v, %v, want %+v", extra, got, err, want)
		}
		id := "c410" + strings.Repeat("07", 16)
		one := "97" + id + "a161a1620ac3" + extra + "01"
		got, err = c.Decode(unhex(t, "93 a6636f6e666967 05 92"+one+one))
		m := member{ID: algo.NodeID(bytes.Repeat([]byte{7}, 16)), Name: "a", Addr: "b", Priority: 10, Eligible: true}
		if want := (config{Version: 5, Members: []member{m, m}}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("with %s in a struct: Decode = %+v, %v, want %+v", extra, got, err, want)
		}
	}
}

// A message of one version, and of a later version with more fields.
type (
	report struct {
		Round uint64
		Rows  []row
	}
	row         struct{ Name string }
	laterReport struct {
		Round uint64
		Rows  []laterRow
		Note  string      `wire:"max=4,optional"`
		Other []laterRow  `wire:"optional"`
		From  algo.NodeID `wire:"optional"`
	}
	laterRow struct {
		Name string
		Load []int8 `wire:"max=3,optional"`
	}
)

func (report) Kind() string      { return "report" }
func (laterReport) Kind() string { return "report" }

func TestVersionsReadEachOther(t *testing.T) {
	earlier, later := newCodec(t, report{}), newCodec(t, laterReport{})
	sent := laterReport{Round: 7, Rows: []laterRow{{"a", []int8{1}}, {"b", nil}}, Note: "note", Other: []laterRow{{"c", nil}}, From: nodeA}
	b, err := later.Append(nil, sent)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := later.Decode(b); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("the later version reads %+v, %v of itself, want %+v", got, err, sent)
	}
	short := report{Round: 7, Rows: []row{{"a"}, {"b"}}}
	if got, err := earlier.Decode(b); err != nil || !reflect.DeepEqual(got, short) {
		t.Errorf("the earlier version reads %+v, %v, want %+v", got, err, short)
	}
	b, err = earlier.Append(nil, short)
	if err != nil {
		t.Fatal(err)
	}
	absent := laterReport{Round: 7, Rows: []laterRow{{"a", nil}, {"b", nil}}}
	if got, err := later.Decode(b); err != nil || !reflect.DeepEqual(got, absent) {
		t.Errorf("the later version reads %+v, %v of the earlier, want %+v", got, err, absent)
	}
	// Versions between the two may have some of the fields.
	absent = laterReport{Round: 7, Note: "n", Other: []laterRow{{"a", []int8{5}}}}
	if got, err := later.Decode(unhex(t, "95 a6 7265706f7274 07 90 a1 6e 91 92 a161 91 05")); err != nil || !reflect.DeepEqual(got, absent) {
		t.Errorf("the later version reads %+v, %v, want %+v", got, err, absent)
	}
	for input, want := range map[string]string{
		"91 a6 7265706f7274":                         "report.Round: is missing: 0 of 2 fields are there",
		"92 a6 7265706f7274 07":                      "report.Rows: is missing: 1 of 2 fields are there",
		"93 a6 7265706f7274 07 91 90 c0":             "report.Rows.Name: is missing: 0 of 1 fields are there",
		"94 a6 7265706f7274 07 90":                   "report.Note: is cut short",
		"94 a6 7265706f7274 07 90 c0":                "report.Note: is nil, want a string",
		"94 a6 7265706f7274 07 90 a5 3131313131":     "report.Note: has 5 bytes, at most 4 are allowed",
		"93 a6 7265706f7274 07 91 92 a0 94 00000000": "report.Rows.Load: has 4 elements, at most 3 are allowed",
		"93 a6 7265706f7274 07 90 a0":                "report: has bytes after its end: 1",
	} {
		if m, err := later.Decode(unhex(t, input)); err == nil || err.Error() != "wire: cannot decode "+want {
			t.Errorf("Decode(%s) = %+v, %v, want %s", input, m, err, want)
		}
	}
}

// An absent field needs no bytes in the input, so an element with it needs fewer.
func TestAbsentFieldsAllocateInProportionToInput(t *testing.T) {
	c := newCodec(t, laterReport{})
	const rows = 1024
	b := append([]byte("\x93\xa6report\x07\xdc\x04\x00"), bytes.Repeat([]byte{0x91, 0xa0}, rows)...)
	if _, err := c.Decode(b); err != nil {
		t.Fatal(err)
	}
	if got := bytesPerRun(t, func() { c.Decode(b) }); got > mostFor(len(b)) {
		t.Errorf("decoding %d bytes allocates %d, want at most %d", len(b), got, mostFor(len(b)))
	}
	b = append([]byte("\x93\xa6report\x07\xdc\x04\x00"), make([]byte, 2*rows-1)...)
	_, err := c.Decode(b)
	if want := "wire: cannot decode report.Rows: is cut short"; err == nil || err.Error() != want {
		t.Errorf("Decode = %v, want %s", err, want)
	}
}

func TestSkippingAllocatesNothing(t *testing.T) {
	c := newCodec(t, heartbeat{})
	short := []byte("\x92\xa4beat\x01")
	long := append([]byte("\x93\xa4beat\x01\xdd\x00\x00\x20\x00"), bytes.Repeat(unhex(t, "91 81 a1 31 c4 01 01"), 1<<13)...)
	if _, err := c.Decode(long); err != nil {
		t.Fatal(err)
	}
	base, got := bytesPerRun(t, func() { c.Decode(short) }), bytesPerRun(t, func() { c.Decode(long) })
	if got > base+512 {
		t.Errorf("skipping %d bytes allocates %d, decoding without allocates %d", len(long), got, base)
	}
}

func TestRandomBytesAreErrorOrMessage(t *testing.T) {
	c := everything(t)
	random := rand.New(rand.NewPCG(1, 2))
	valid, err := c.Append(nil, every{String: "s", Texts: []string{"a"}, Members: make([]member, 3), IDs: make([]algo.NodeID, 2)})
	if err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		var b []byte
		if random.IntN(2) == 0 {
			b = make([]byte, random.IntN(64))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
		} else {
			b = bytes.Clone(valid)
			for range 1 + random.IntN(3) {
				b[random.IntN(len(b))] = byte(random.Uint32())
			}
		}
		m, err := c.Decode(b)
		if (m == nil) == (err == nil) {
			t.Fatalf("Decode(%x) = %v, %v", b, m, err)
		}
		if err != nil {
			checkText(t, err)
		}
	}
}

// bytesPerRun returns how many bytes one call of f allocates, rounded down. Like testing.AllocsPerRun it runs f on one
// processor, and once before, to fill pools.
func bytesPerRun(t testing.TB, f func()) uint64 {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const runs = 10
	var before, after runtime.MemStats
	f()
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / runs
}

// dear returns messages that need the most memory that their types allow: as many elements as possible in as few bytes
// as possible.
func dear(t testing.TB, c *Codec) map[string][]byte {
	corpus := map[string][]byte{}
	add := func(name string, m algo.Message) {
		b, err := c.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		corpus[name] = b
		for _, n := range []int{0, 1, 2, 3, len(b) / 4, len(b) / 2} {
			if n < len(b) {
				corpus[fmt.Sprintf("%s without its last %d bytes", name, n)] = b[:len(b)-n]
			}
		}
	}
	add("the largest", largest())
	add("the largest hello", largestHello())
	add("a hello with short settings", Hello{Cluster: "ab", Algorithm: "ab", Name: "ab", Addr: "ab", Settings: "ab"})
	add("zeroes", every{Bools: make([]bool, 1024), Numbers: make([]uint64, 16), IDs: make([]algo.NodeID, 1024), Texts: make([]string, 3)})
	for _, n := range []int{1, 2, 5, 33, 65, 300, 900, 1024} {
		add(fmt.Sprintf("%d leaders", n), every{Leaders: make([]algo.Leader, n)})
		add(fmt.Sprintf("%d members", n), config{Members: make([]member, n)})
		add(fmt.Sprintf("%d bytes", n), every{Bytes: make([]byte, n)})
	}
	add("a byte", every{Bytes: []byte{1}})
	add("short strings", every{Timer: "ab", String: "ab", Texts: []string{"ab", "ab", "ab"}, Member: member{Name: "ab", Addr: "ab"}})
	return corpus
}

// mostFor returns how many bytes decoding n bytes may allocate. The most expensive byte is an empty slice, which has 24
// bytes in memory, and the runtime rounds up.
func mostFor(n int) uint64 { return uint64(32*n + 1024) }

func TestDecodingAllocatesInProportionToInput(t *testing.T) {
	c := everything(t)
	corpus := dear(t, c)
	for name, b := range invalidInputs(t) {
		corpus[name] = b
	}
	for name, b := range corpus {
		if got := bytesPerRun(t, func() { c.Decode(b) }); got > mostFor(len(b)) {
			t.Errorf("%s: decoding %d bytes allocates %d, want at most %d", name, len(b), got, mostFor(len(b)))
		}
	}
	c = newCodec(t, costly{}, nested{}, bare{}, vast{})
	for _, m := range []algo.Message{costly{Many: make([]string, 1024)}, nested{make([]struct{ Inner []int }, 1024)}, bare{make([][]int, 1024)}, vast{}} {
		b, err := c.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytesPerRun(t, func() { c.Decode(b) }); got > mostFor(len(b)) {
			t.Errorf("%s: decoding %d bytes allocates %d, want at most %d", m.Kind(), len(b), got, mostFor(len(b)))
		}
	}
}

// claim is a slice in a slice: each level could claim the same bytes.
type claim struct {
	Outer []struct {
		ID    algo.NodeID
		Inner []algo.NodeID `wire:"max=65535"`
	} `wire:"max=65535"`
}

func (claim) Kind() string { return "claim" }

func TestNestedSlicesSharingBytesStaySmall(t *testing.T) {
	c := newCodec(t, claim{})
	// The outer slice claims 1,000 elements, which fill the input. Its first element claims 1,000 IDs.
	b := []byte("\x92\xa5claim\xdc\x03\xe8\x92\xc4\x10")
	b = append(b, make([]byte, 16)...)
	b = append(b, 0xdc, 0x03, 0xe8)
	b = append(b, make([]byte, 20*1000)...)
	_, err := c.Decode(b)
	if want := "wire: cannot decode claim.Outer.Inner: is an integer, want binary data"; err == nil || err.Error() != want {
		t.Errorf("Decode = %v, want %s", err, want)
	}
	if got := bytesPerRun(t, func() { c.Decode(b) }); got > mostFor(len(b)) {
		t.Errorf("decoding %d bytes allocates %d, want at most %d", len(b), got, mostFor(len(b)))
	}
}

func TestEncodingAllocatesNothing(t *testing.T) {
	if testkit.UnderRace {
		t.Skip("under the race detector a sync.Pool forgets now and then")
	}
	c := everything(t)
	b := make([]byte, 0, 4<<10)
	full := largest()
	full.Bools, full.IDs, full.Leaders, full.Members = full.Bools[:9], full.IDs[:9], full.Leaders[:9], full.Members[:2]
	for _, m := range []algo.Message{heartbeat{View: 1 << 40}, full, largestHello()} {
		got := testing.AllocsPerRun(1000, func() {
			if _, err := c.Append(b, m); err != nil {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("Append(%s) allocates %v times, want never", m.Kind(), got)
		}
	}
}
