package labpage

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// lineTable is the table of functions in a program of Go, which the run time needs to walk a stack. See type _func in
// its runtime2.go, and pcHeader in its symtab.go.
type lineTable struct {
	data      []byte // from the header on
	malformed bool   // an offset leads out of data
}

// lineTableStart begins the header on a system with pointers of 64 bits: it changes with the form of the table.
var lineTableStart = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}

// dropLines removes the names of files, the line numbers, and the names of most functions from the initial memory of a
// program, and keeps its size. Only a trace of the stack shows them, and an exported page shows none. It
// returns memory as it is if that has no table of functions in the known form.
func dropLines(memory []byte) []byte {
	start := bytes.Index(memory, lineTableStart)
	if start < 0 {
		return memory
	}
	out := slices.Clone(memory)
	t := lineTable{data: out[start:]}
	if t.drop(); t.malformed {
		return memory
	}
	return out
}

// drop removes the lines from a table.
func (t *lineTable) drop() {
	// The header has the number of functions, and the offsets of the parts of the table.
	functions, names, units, offsets, functionTable := t.uint64(8), t.uint64(32), t.uint64(40), t.uint64(56), t.uint64(64)
	if functions > len(t.data)/8 || names > units || units > offsets || offsets > functionTable || functionTable > len(t.data) {
		t.malformed = true
		return
	}
	needed, lines := make(map[int]bool), make(map[int]bool) // offsets of tables
	for i := range functions {
		const name, stack, file, line, tables, unit, firstLine, id, end = 4, 16, 20, 24, 28, 32, 36, 40, 44
		f := functionTable + t.uint32(functionTable+8*i+4)
		needed[t.uint32(f+stack)] = true
		for k := range min(t.uint32(f+tables), len(t.data)) {
			needed[t.uint32(f+end+4*k)] = true
		}
		lines[t.uint32(f+file)], lines[t.uint32(f+line)] = true, true
		for _, field := range []int{file, line, unit, firstLine} {
			t.clear(f+field, 4) // 0 means that there is no such table
		}
		if t.malformed {
			return
		}
		start := names + min(max(t.uint32(f+name), 0), units-names)
		if text, _, _ := bytes.Cut(t.data[start:units], []byte{0}); !needsName(text, byte(t.uint32(f+id))) {
			clear(text)
			t.clear(f+name, 4) // 0 means that it has no name
		}
	}
	for table := range lines {
		if at := offsets + table; table != 0 && !needed[table] { // equal tables stand there once
			t.clear(at, t.sizeOfTable(at))
		}
	}
	t.clear(units, offsets-units) // the names of the files
}

// needsName reports whether the run time reads the name of a function. It reads some of its own packages. When a
// pointer is nil, it reads those of functions that the compiler generates, as it does those of other functions with a
// special ID.
func needsName(name []byte, id byte) bool {
	isOfRuntime := func(prefix string) bool { return bytes.HasPrefix(name, []byte(prefix)) }
	return id != 0 || slices.ContainsFunc([]string{"runtime.", "reflect.", "internal/"}, isOfRuntime)
}

// sizeOfTable returns the size of a table of pairs of numbers. A first number of 0 ends it, except that of the first
// pair.
func (t *lineTable) sizeOfTable(at int) (size int) {
	for isFirst := true; ; isFirst = false {
		value := t.skip(at, &size)
		if t.malformed || value == 0 && !isFirst {
			return size
		}
		t.skip(at, &size)
	}
}

// skip returns the number at an offset in a table, and adds its size to the offset.
func (t *lineTable) skip(table int, offset *int) uint64 {
	if at := table + *offset; at >= 0 && at < len(t.data) {
		if number, n := binary.Uvarint(t.data[at:]); n > 0 {
			*offset += n
			return number
		}
	}
	t.malformed = true
	return 0
}

func (t *lineTable) uint32(at int) int {
	if at < 0 || at > len(t.data)-4 {
		t.malformed = true
		return 0
	}
	return int(binary.LittleEndian.Uint32(t.data[at:]))
}

func (t *lineTable) uint64(at int) int {
	if at < 0 || at > len(t.data)-8 {
		t.malformed = true
		return 0
	}
	return int(min(binary.LittleEndian.Uint64(t.data[at:]), 1<<31-1))
}

func (t *lineTable) clear(at, size int) {
	if at < 0 || size < 0 || at > len(t.data)-size {
		t.malformed = true
		return
	}
	clear(t.data[at : at+size])
}
