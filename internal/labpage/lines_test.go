package labpage

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tableOf returns a table of functions. Each function is a list: its name, its ID, its tables of stack, files and
// lines, and others.
func tableOf(names, files, tables string, functions ...[]uint32) []byte {
	u32, u64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	var list, bodies []byte
	for i, f := range functions {
		list = u32(u32(list, uint32(i)), uint32(8*len(functions)+len(bodies)))
		bodies = append(u32(append(bodies, make([]byte, 4)...), f[0]), make([]byte, 8)...)
		for _, table := range f[2:5] {
			bodies = u32(bodies, table)
		}
		bodies = u32(u32(u32(u32(bodies, uint32(len(f)-5)), 7), 99), f[1]) // with its unit and its first line
		for _, table := range f[5:] {
			bodies = u32(bodies, table)
		}
	}
	header := u64(u64(u64(slices.Clone(lineTableStart), uint64(len(functions))), 1), 0)
	at := uint64(72)
	for _, part := range []int{len(names), 3, len(files) - 3, len(tables)} { // names of functions, units, files, tables
		header = u64(header, at)
		at += uint64(part)
	}
	return slices.Concat(u64(header, at), []byte(names), []byte(files), []byte(tables), list, bodies)
}

func TestDropLines(t *testing.T) {
	const stack, lines, shared, other = "\x02\x01\x00", "\x00\x01\x82\x01\x04\x00", "\x06\x01\x00", "\x08\x01\x00"
	const own, method, reflect = "example.com/x.(*T).F\x00", "example.com/x.(*T).M\x00", "reflect.Value.Call\x00"
	cleared := func(text string) string { return strings.Repeat("\x00", len(text)) }
	const methodAt, reflectAt, wrapper = uint32(1 + len(own)), uint32(1 + len(own) + len(method)), 22
	before := tableOf("\x00"+own+method+reflect, "uni/a.go", "\x00"+stack+lines+shared+other,
		[]uint32{1, 0, 1, 10, 4, 13}, []uint32{methodAt, wrapper, 1, 4, 10, 10}, []uint32{reflectAt, 0, 1, 4, 10})
	want := tableOf("\x00"+cleared(own)+method+reflect, cleared("uni/a.go"), "\x00"+stack+cleared(lines)+shared+other,
		[]uint32{0, 0, 1, 0, 0, 13}, []uint32{methodAt, wrapper, 1, 0, 0, 10}, []uint32{reflectAt, 0, 1, 0, 0})
	memory := slices.Concat([]byte("before "), before, []byte(" after"))
	got := dropLines(memory)
	require.Len(t, got, len(memory))
	for _, f := range []int{0, 48, 96} { // unit and first line are cleared
		at := 72 + 1 + len(own+method+reflect) + len("uni/a.go") + 1 + len(stack+lines+shared+other) + 24 + f + 32
		require.Equal(t, []byte{7, 0, 0, 0, 99, 0, 0, 0}, want[at:at+8])
		clear(want[at : at+8])
	}
	require.Equal(t, slices.Concat([]byte("before "), want, []byte(" after")), got)
	require.Equal(t, got, dropLines(got))

	require.Equal(t, []byte("no table"), dropLines([]byte("no table")))
	for n := range before {
		cut := before[:n]
		require.Equal(t, cut, dropLines(cut), "a part of it stays as it is")
	}
	for at := range before[:72] { // any damage of the header
		damaged := slices.Clone(before)
		damaged[at] ^= 0xff
		require.NotPanics(t, func() { dropLines(damaged) })
	}
}
