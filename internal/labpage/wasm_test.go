package labpage

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// module returns a module with an unknown section, the given segments, and another section.
func module(segments []segment) []byte {
	data := appendSegments(nil, segments)
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00\x00\x03\x02ab\x0b"), []byte{byte(len(data))}, data, []byte("\x00\x02\x01z"))
}

func memoryOf(t *testing.T, module []byte) []byte {
	memory := make([]byte, 400)
	section := module[15:]
	segments, ok := parseSegments(section[:len(section)-4])
	require.True(t, ok)
	for _, s := range segments {
		copy(memory[s.at:], s.data)
	}
	return memory
}

func TestCompactKeepsMemory(t *testing.T) {
	spread := module([]segment{{0, []byte("a")}, {5, []byte("bc")}, {7, []byte("d")}, {72, []byte("e")}, {138, []byte("i")}, {300, []byte("f")}, {150, []byte("g")}, {150, []byte("h")}})
	merged := compact(spread)
	require.Equal(t, memoryOf(t, spread), memoryOf(t, merged))
	require.Equal(t, module([]segment{
		{0, slices.Concat([]byte("a\x00\x00\x00\x00bcd"), make([]byte, 64), []byte("e"))}, {138, []byte("i")}, {300, []byte("f")}, {150, []byte("g")}, {150, []byte("h")},
	}), merged)
	require.Equal(t, merged, compact(merged))
}

// A module of another form stays unchanged.
func TestCompactLeavesOtherForms(t *testing.T) {
	valid := module([]segment{{0, []byte("a")}, {2, []byte("b")}})
	passive := slices.Clone(valid)
	passive[16] = 1
	count := slices.Concat(valid, []byte{12, 1, 2})
	for _, m := range [][]byte{nil, []byte("\x00asm"), passive, count, append(slices.Clone(valid), 7, 9)} {
		require.Equal(t, m, compact(m))
	}
	for n := range valid { // the beginning of a module
		require.NotPanics(t, func() { compact(valid[:n]) })
	}
}

func TestSignedNumbers(t *testing.T) {
	for _, v := range []int64{0, 1, 63, 64, -1, -64, -65, 8191, 8192, 1 << 30, -1 << 31} {
		got, n := varint(appendVarint(nil, v))
		require.Equal(t, v, got)
		require.NotZero(t, n)
	}
	require.Equal(t, []byte{0x80, 0x7f}, appendVarint(nil, -128)) // example of the specification
	_, n := varint([]byte{0x80})
	require.Zero(t, n)
}
