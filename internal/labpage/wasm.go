package labpage

import (
	"encoding/binary"
	"slices"
)

// compact returns a module of WebAssembly that initializes the same memory, except for line numbers, with fewer data
// segments. The linker of Go omits each run of zeros: in a table of the run time, that makes tens of thousands of
// segments, and the description of a segment compresses worse than zeros do. A module in another form is returned as it
// is.
func compact(module []byte) []byte {
	const header, dataSection, dataCountSection = 8, 11, 12
	if len(module) < header {
		return module
	}
	out := slices.Clone(module[:header])
	for rest := module[header:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) || id == dataCountSection {
			return module
		}
		section := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		if id == dataSection {
			segments, ok := parseSegments(section)
			if !ok {
				return module
			}
			merged := mergeSegments(segments)
			for i := range merged {
				merged[i].data = dropLines(merged[i].data)
			}
			section = appendSegments(nil, merged)
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(section))), section...)
	}
	return out
}

// segment is a part of the initial memory. Bytes outside of all segments are zero.
type segment struct {
	at   int64
	data []byte
}

// The bytes of a segment for memory 0 that has a constant as its address.
const (
	activeSegment = 0x00
	constant      = 0x41 // i32.const
	endExpression = 0x0b
)

// parseSegments parses a data section. It reports whether that has only segments with constant addresses.
func parseSegments(section []byte) (all []segment, ok bool) {
	count, n := binary.Uvarint(section)
	if n <= 0 {
		return nil, false
	}
	section = section[n:]
	for range count {
		if len(section) < 2 || section[0] != activeSegment || section[1] != constant {
			return nil, false
		}
		at, n := varint(section[2:])
		if section = section[2+n:]; n == 0 || len(section) == 0 || section[0] != endExpression {
			return nil, false
		}
		size, n := binary.Uvarint(section[1:])
		if n <= 0 || size > uint64(len(section)-1-n) {
			return nil, false
		}
		section = section[1+n:]
		all = append(all, segment{at, section[:size]})
		section = section[size:]
	}
	return all, len(section) == 0
}

// mergeSegments merges segments that are near to each other, with zeros between them.
func mergeSegments(all []segment) (merged []segment) {
	const maxGap = 64
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 {
			end := merged[last].at + int64(len(merged[last].data))
			if gap := s.at - end; gap >= 0 && gap <= maxGap {
				merged[last].data = append(append(merged[last].data, make([]byte, gap)...), s.data...)
				continue
			}
		}
		merged = append(merged, segment{s.at, slices.Clone(s.data)})
	}
	return merged
}

func appendSegments(to []byte, all []segment) []byte {
	to = binary.AppendUvarint(to, uint64(len(all)))
	for _, s := range all {
		to = append(appendVarint(append(to, activeSegment, constant), s.at), endExpression)
		to = append(binary.AppendUvarint(to, uint64(len(s.data))), s.data...)
	}
	return to
}

// varint parses a signed LEB128 number, which [binary.Varint] cannot, and returns its length; 0 for an error.
func varint(data []byte) (v int64, n int) {
	for i, b := range data[:min(len(data), 5)] {
		v |= int64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if b&0x40 != 0 {
				v -= 1 << (7 * (i + 1))
			}
			return v, i + 1
		}
	}
	return 0, 0
}

func appendVarint(to []byte, v int64) []byte {
	for v < -0x40 || v >= 0x40 {
		to = append(to, byte(v)|0x80)
		v >>= 7
	}
	return append(to, byte(v)&0x7f)
}
