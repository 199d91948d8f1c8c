package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// bbolt trusts its file: an offset that points nowhere is a fault in the memory
// map, partly in a goroutine of bbolt's own, where nothing recovers it, and pages
// in a circle overflow the stack. So a file is read here first, as bytes and with
// every offset checked, and only one without a fault is handed to bbolt.

// contents is what a file holds.
type contents struct {
	transaction   uint64 // the number of the last one
	meta, records map[string][]byte
}

// The layout of bbolt's file. Numbers have the byte order of the machine.
const (
	// pageSize is fixed, where bbolt would take the machine's: a file may be moved,
	// and no save writes more than it must. It is a part of the format.
	pageSize = 4096

	pageHeader  = 16 // id 8, flags 2, count 2, overflow 4
	elementSize = 16 // leaf: flags 4, pos 4, ksize 4, vsize 4; branch: pos 4, ksize 4, page id 8
	bucketSize  = 16 // root page id 8, sequence 8; root 0 is followed by a page in place

	branchPage, leafPage, metaPage = 0x01, 0x02, 0x04
	bucketElement                  = 0x01

	boltMagic, boltVersion = 0xED0CDAED, 2
	noFreelist             = ^uint64(0)
)

var native = binary.NativeEndian

// inspector reads one file.
type inspector struct {
	file  io.ReaderAt
	pages uint64          // how many there are in use; higher ids lead nowhere
	seen  map[uint64]bool // each page belongs to one place of the tree
}

// inspect reads the whole of a bbolt file of size bytes and returns what it
// holds, or the first thing that is wrong with it.
func inspect(file io.ReaderAt, size int64) (*contents, error) {
	last, err := lastMeta(file)
	if err != nil {
		return nil, err
	}
	if last.pages > uint64(size)/pageSize {
		return nil, fmt.Errorf("it has %d bytes, but %d pages of %d", size, last.pages, pageSize)
	}
	in := &inspector{file: file, pages: last.pages, seen: map[uint64]bool{}}
	buckets := map[string]map[string][]byte{}
	err = in.tree(last.root, span{}, func(key, value []byte, isBucket bool) error {
		if !isBucket {
			return fmt.Errorf("it has %q outside of a bucket", key)
		}
		records, err := in.bucket(value)
		buckets[string(key)] = records
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &contents{transaction: last.transaction, meta: buckets[string(metaBucket)], records: buckets[string(recordsBucket)]}
	if len(buckets) != 2 || c.meta == nil || c.records == nil {
		return nil, errors.New("it is a bbolt file, but not one of this package")
	}
	return c, nil
}

// meta is one of the two pages that say where a state begins. Transactions write
// them in turns.
type meta struct {
	root, pages, transaction uint64
}

// lastMeta returns the meta page of the last transaction. bbolt itself makes do
// with one good page of the two. But all that it says lies in one sector, so a
// crash leaves it whole, old or new; a bad one is damage, and the other may be
// older than a save that was reported as done.
func lastMeta(file io.ReaderAt) (last meta, err error) {
	var both [2]meta
	for id := range both {
		if both[id], err = readMeta(file, uint64(id)); err != nil {
			return meta{}, err
		}
	}
	switch a, b := both[0].transaction, both[1].transaction; {
	case a == b+1:
		return both[0], nil
	case b == a+1:
		return both[1], nil
	default:
		return meta{}, fmt.Errorf("its two last transactions are %d and %d", a, b)
	}
}

func readMeta(file io.ReaderAt, id uint64) (meta, error) {
	var page [pageSize]byte
	if _, err := file.ReadAt(page[:], int64(id)*pageSize); err != nil {
		return meta{}, fmt.Errorf("read page %d: %w", id, err)
	}
	// magic 4, version 4, page size 4, flags 4, root bucket 16, freelist 8, pages 8,
	// transaction 8, sum of all these 8
	text := page[pageHeader:]
	m := meta{root: native.Uint64(text[16:]), pages: native.Uint64(text[40:]), transaction: native.Uint64(text[48:])}
	hash := fnv.New64a()
	hash.Write(text[:56])
	switch {
	case native.Uint32(text) != boltMagic:
		return meta{}, fmt.Errorf("page %d does not begin as a bbolt file does", id)
	case native.Uint64(text[56:]) != hash.Sum64():
		return meta{}, fmt.Errorf("page %d does not match its own sum", id)
	case native.Uint32(text[4:]) != boltVersion || native.Uint32(text[8:]) != pageSize:
		return meta{}, fmt.Errorf("page %d has bbolt version %d and pages of %d bytes, want %d and %d",
			id, native.Uint32(text[4:]), native.Uint32(text[8:]), boltVersion, pageSize)
	case native.Uint64(page[:]) != id || native.Uint16(page[8:]) != metaPage || m.transaction%2 != id:
		return meta{}, fmt.Errorf("page %d is not where it belongs", id)
	case native.Uint64(text[32:]) != noFreelist && m.transaction > 1: // the first two stand in every new file
		return meta{}, fmt.Errorf("page %d has a list of free pages, which is never written", id)
	}
	return m, nil
}

// span is a range of keys: from (inclusive) and to (exclusive), each nil if open.
type span struct{ from, to []byte }

func (s span) holds(key []byte) bool {
	return (s.from == nil || bytes.Compare(key, s.from) >= 0) && (s.to == nil || bytes.Compare(key, s.to) < 0)
}

// tree visits the leaves below a page in order.
func (in *inspector) tree(id uint64, keys span, visit func(key, value []byte, isBucket bool) error) error {
	page, err := in.read(id)
	if err != nil {
		return err
	}
	elements, err := parsePage(page, keys)
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	for i, e := range elements {
		if !e.isBranch {
			if err := visit(e.key, e.value, e.isBucket); err != nil {
				return err
			}
			continue
		}
		below := span{from: e.key, to: keys.to}
		if i+1 < len(elements) {
			below.to = elements[i+1].key
		}
		if err := in.tree(e.child, below, visit); err != nil {
			return err
		}
	}
	return nil
}

// bucket reads the bucket that value describes.
func (in *inspector) bucket(value []byte) (map[string][]byte, error) {
	if len(value) < bucketSize {
		return nil, errors.New("it has a bucket that is cut off")
	}
	records := map[string][]byte{}
	keep := func(key, value []byte, isBucket bool) error {
		if isBucket {
			return fmt.Errorf("it has a bucket %q within a bucket", key)
		}
		records[string(key)] = value
		return nil
	}
	if root := native.Uint64(value); root != 0 {
		return records, in.tree(root, span{}, keep)
	}
	elements, err := parsePage(value[bucketSize:], span{})
	if err != nil {
		return nil, fmt.Errorf("a page within a page: %w", err)
	}
	for _, e := range elements {
		if e.isBranch {
			return nil, errors.New("a page within a page has others below it")
		}
		if err := keep(e.key, e.value, e.isBucket); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// read returns a page with those that it overflows into.
func (in *inspector) read(id uint64) ([]byte, error) {
	if id < 2 || id >= in.pages {
		return nil, fmt.Errorf("it points to page %d of %d", id, in.pages)
	}
	var header [pageHeader]byte
	if _, err := in.file.ReadAt(header[:], int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	if self := native.Uint64(header[:]); self != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, self)
	}
	count := uint64(native.Uint32(header[12:])) + 1
	if count > in.pages-id {
		return nil, fmt.Errorf("page %d is %d pages long and reaches over the end", id, count)
	}
	for i := id; i < id+count; i++ {
		if in.seen[i] {
			return nil, fmt.Errorf("page %d belongs to two places", i)
		}
		in.seen[i] = true
	}
	page := make([]byte, count*pageSize)
	if _, err := in.file.ReadAt(page, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return page, nil
}

// element is one entry of a page: of a leaf a record, else a page below it.
type element struct {
	key, value         []byte
	isBranch, isBucket bool
	child              uint64
}

// parsePage reads the entries of a page, whose keys must ascend within keys.
func parsePage(page []byte, keys span) ([]element, error) {
	if len(page) < pageHeader {
		return nil, errors.New("it is cut off")
	}
	flags, count := native.Uint16(page[8:]), int(native.Uint16(page[10:]))
	isBranch := flags == branchPage
	if !isBranch && flags != leafPage {
		return nil, fmt.Errorf("it is of kind %#x, neither leaf nor branch", flags)
	}
	if isBranch && count == 0 {
		return nil, errors.New("it is a branch without an entry")
	}
	if pageHeader+count*elementSize > len(page) {
		return nil, fmt.Errorf("it has %d entries, more than there is room for", count)
	}
	elements := make([]element, count)
	for i := range elements {
		e, ok := parseElement(page[pageHeader+i*elementSize:], isBranch)
		if !ok {
			return nil, fmt.Errorf("entry %d reaches over its end", i)
		}
		if !keys.holds(e.key) || i > 0 && bytes.Compare(elements[i-1].key, e.key) >= 0 {
			return nil, fmt.Errorf("the key %q of entry %d is out of order", e.key, i)
		}
		elements[i] = e
	}
	return elements, nil
}

// parseElement reads the entry at the beginning of text, from where its offsets
// count. It reports false if it reaches over the end of text.
func parseElement(text []byte, isBranch bool) (element, bool) {
	e := element{isBranch: isBranch}
	var pos, keySize, valueSize uint64
	if isBranch {
		pos, keySize = uint64(native.Uint32(text)), uint64(native.Uint32(text[4:]))
		e.child = native.Uint64(text[8:])
	} else {
		e.isBucket = native.Uint32(text)&bucketElement != 0
		pos, keySize = uint64(native.Uint32(text[4:])), uint64(native.Uint32(text[8:]))
		valueSize = uint64(native.Uint32(text[12:]))
	}
	if pos < elementSize || pos+keySize+valueSize > uint64(len(text)) {
		return element{}, false
	}
	e.key = text[pos : pos+keySize]
	e.value = text[pos+keySize : pos+keySize+valueSize]
	return e, true
}
