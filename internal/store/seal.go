package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

// format numbers what the file looks like inside. A version of this package
// reads its own format only, and refuses a higher one.
const format = 1

// What the file holds: two buckets. The records lie in one, under their keys. The
// other says how to read them.
var (
	recordsBucket = []byte("records")
	metaBucket    = []byte("meta")
	formatKey     = []byte("format") // in metaBucket: 8 bytes, big endian
	sealKey       = []byte("seal")   // in metaBucket: see seal
)

// digests is a sum over all records that is cheap to keep when one of them
// changes. It guards against accidents, not against forgery.
type digests struct {
	of  map[string]uint64
	sum uint64 // all of them, combined by exclusive or
}

func newDigests(records map[string][]byte) digests {
	d := digests{of: make(map[string]uint64, len(records))}
	for key, value := range records {
		d.replace(key, value)
	}
	return d
}

// replace puts the digest of the record in the place of the one of that key.
func (d *digests) replace(key string, value []byte) {
	hash := fnv.New64a()
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(key)))
	hash.Write(length[:]) // so that no two records read the same in a row
	hash.Write([]byte(key))
	hash.Write(value)

	digest := hash.Sum64()
	d.sum ^= d.of[key] ^ digest
	d.of[key] = digest
}

// seal binds all records to the transaction that wrote them last: its number,
// then the sum of the digests. bbolt sums up its two meta pages only, so a page of
// records that rotted, or one that the disk never wrote and that still holds a
// state of before, would pass for what was saved.
func seal(transaction uint64, d digests) []byte {
	var text [16]byte
	binary.BigEndian.PutUint64(text[:8], transaction)
	binary.BigEndian.PutUint64(text[8:], d.sum)
	return text[:]
}

// unseal checks the contents of a file and returns the digests of its records.
func unseal(c *contents) (digests, error) {
	version, ok := c.meta[string(formatKey)]
	if !ok || len(version) != 8 {
		return digests{}, errors.New("it does not say its format")
	}
	switch v := binary.BigEndian.Uint64(version); {
	case v > format:
		return digests{}, fmt.Errorf("%w (format %d, where this one knows format %d)", ErrNewerVersion, v, format)
	case v < format:
		return digests{}, fmt.Errorf("it says format %d, which there never was", v)
	}
	d := newDigests(c.records)
	if string(c.meta[string(sealKey)]) != string(seal(c.transaction, d)) {
		return digests{}, fmt.Errorf("its records are not those of its last transaction, number %d", c.transaction)
	}
	return d, nil
}
