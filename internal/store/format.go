package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
)

// A file consists of two slots of equal size. Saves are numbered and use the slots in turn, so that the previous save
// stays complete. A slot consists of a mark and a record. Both have the form
//
//	format 4 bytes, length of the state 4, number of the save 8, checksum of these and of the
//	state 8 (CRC-64, ECMA), the state; little endian; up to here equal in all formats
//
// and the state of a mark is empty. The mark distinguishes damage from a crash. It stands in the slot of the next
// save, and says that its own save was completed. If the record of that save is incomplete, it was damaged
// afterwards, not interrupted. The mark needs no sync of its own, because the next save writes the same page anyway.
const (
	// Format is the form of the file.
	Format   = 1
	headSize = 24
	slotSize = 128 << 10
	fileSize = 2 * slotSize
	// MaxState is the maximum size of a state in bytes: twice what a node needs.
	MaxState = slotSize - 2*headSize
)

var crcTable = crc64.MakeTable(crc64.ECMA)

func checksum(head, state []byte) uint64 {
	return crc64.Update(crc64.Checksum(head, crcTable), crcTable, state)
}

func encodeSlot(number uint64, state []byte) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, headSize+len(state)), Format)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(state)))
	b = binary.LittleEndian.AppendUint64(b, number)
	b = binary.LittleEndian.AppendUint64(b, checksum(b, state))
	return append(b, state...)
}

// newFile returns the content of a file without a save.
func newFile() []byte {
	file := make([]byte, fileSize)
	copy(file[slotSize+headSize:], encodeSlot(1, nil))
	return file
}

// decodeSlot returns the number and the state of the last save in a file.
func decodeSlot(b []byte) (format uint32, number uint64, state []byte) {
	head, state := b[:headSize], b[headSize:]
	length := binary.LittleEndian.Uint32(head[4:])
	if uint64(length) > uint64(len(state)) || checksum(head[:16], state[:length]) != binary.LittleEndian.Uint64(head[16:]) {
		return 0, 0, nil
	}
	return binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint64(head[8:]), state[:length]
}

// decode returns the number of the last save of a file, and what was saved.
func decode(file []byte) (last uint64, state []byte, err error) {
	for _, at := range []int{16, 4096 + 16} { // the magic number of bbolt, in its first two pages
		if len(file) >= at+4 && binary.NativeEndian.Uint32(file[at:]) == 0xED0CDAED {
			return 0, nil, ErrOldFormat
		}
	}
	if len(file) != fileSize {
		return 0, nil, fmt.Errorf("%w: it has %d bytes, and had %d when it was made", ErrDamaged, len(file), fileSize)
	}
	var version uint32
	var completed, previous uint64
	for i := range uint64(2) {
		slot := file[i*slotSize:][:slotSize]
		_, mark, _ := decodeSlot(slot)
		completed = max(completed, mark)
		switch f, number, s := decodeSlot(slot[headSize:]); {
		case number%2 != i: // of the other slot
		case number > last:
			version, previous, last, state = f, last, number, s
		default:
			previous = number
		}
	}
	switch {
	case last == 0:
		err = fmt.Errorf("%w: neither of its slots holds a save", ErrDamaged)
	case previous != 0 && previous != last-1:
		err = fmt.Errorf("%w: its last two saves are numbers %d and %d", ErrDamaged, previous, last)
	case completed > last:
		err = fmt.Errorf("%w: save %d was done, and %d is the last one in it", ErrDamaged, completed, last)
	case version > Format:
		err = fmt.Errorf("%w (format %d, where this one knows format %d)", ErrNewerVersion, version, Format)
	}
	return last, bytes.Clone(state), err
}
