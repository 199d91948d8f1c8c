package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
)

// A file is two slots of one size. Saves are numbered and write them in turn, so that
// the one before stays whole. A slot is a mark and a record, and each of these is
//
//	format 4 bytes, length of the state 4, number of the save 8, sum of these and of the
//	state 8 (CRC-64, ECMA), the state; little endian; as far as this equal in all formats
//
// where the state of a mark is empty. The mark tells damage from a crash: it stands in
// the slot of the next save and says that this one is done. If its record is not whole
// then, it is lost, and was not cut. The mark needs no sync of its own, as the next save
// has to write that page anyway.
const (
	// Format is the form of the file.
	Format   = 1
	headSize = 24
	slotSize = 128 << 10
	fileSize = 2 * slotSize
	// MaxState is how many bytes can be saved: twice what a node ever has to.
	MaxState = slotSize - 2*headSize
)

var sums = crc64.MakeTable(crc64.ECMA)

func sum(head, state []byte) uint64 { return crc64.Update(crc64.Checksum(head, sums), sums, state) }

func seal(number uint64, state []byte) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, headSize+len(state)), Format)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(state)))
	b = binary.LittleEndian.AppendUint64(b, number)
	b = binary.LittleEndian.AppendUint64(b, sum(b, state))
	return append(b, state...)
}

// empty is a file in which nothing was saved yet.
func empty() []byte {
	file := make([]byte, fileSize)
	copy(file[slotSize+headSize:], seal(1, nil))
	return file
}

// unseal returns what seal got, and zeros if that is not whole.
func unseal(b []byte) (format uint32, number uint64, state []byte) {
	head, state := b[:headSize], b[headSize:]
	length := binary.LittleEndian.Uint32(head[4:])
	if uint64(length) > uint64(len(state)) || sum(head[:16], state[:length]) != binary.LittleEndian.Uint64(head[16:]) {
		return 0, 0, nil
	}
	return binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint64(head[8:]), state[:length]
}

// decode returns the number of the last save of a file, and what was saved.
func decode(file []byte) (last uint64, state []byte, err error) {
	for _, at := range []int{16, 4096 + 16} { // the magic number of bbolt, in its first two pages
		if len(file) >= at+4 && binary.NativeEndian.Uint32(file[at:]) == 0xED0CDAED {
			return 0, nil, ErrOlderForm
		}
	}
	if len(file) != fileSize {
		return 0, nil, fmt.Errorf("%w: it has %d bytes, and had %d when it was made", ErrDamaged, len(file), fileSize)
	}
	var written uint32
	var done, before uint64
	for i := range uint64(2) {
		slot := file[i*slotSize:][:slotSize]
		_, mark, _ := unseal(slot)
		done = max(done, mark)
		switch f, number, s := unseal(slot[headSize:]); {
		case number%2 != i: // of the other slot
		case number > last:
			written, before, last, state = f, last, number, s
		default:
			before = number
		}
	}
	switch {
	case last == 0:
		err = fmt.Errorf("%w: neither of its slots holds a save", ErrDamaged)
	case before != 0 && before != last-1:
		err = fmt.Errorf("%w: its last two saves are numbers %d and %d", ErrDamaged, before, last)
	case done > last:
		err = fmt.Errorf("%w: save %d was done, and %d is the last one in it", ErrDamaged, done, last)
	case written > Format:
		err = fmt.Errorf("%w (format %d, where this one knows format %d)", ErrNewerVersion, written, Format)
	}
	return last, bytes.Clone(state), err
}
