package cluster

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
)

// identity is the record of the identity of this node.
type identity struct {
	ID      algo.NodeID
	Cluster string `wire:"max=64"` // the name of the cluster
	Starts  uint32 // from this folder, the present one included
}

func (identity) Kind() string { return "node" }

// records is what a node keeps, in a store: the last one of each kind.
type records struct {
	store  Store
	folder string            // what errors call the store
	values map[string][]byte // by kind
}

var recordCodec = wire.Must(append(engine.Records(), identity{})...)

func newRecords(s Store, folder string) *records {
	return &records{store: s, folder: cmp.Or(folder, "the store"), values: make(map[string][]byte)}
}

// load returns the identity of this node and the other saved records. A node that never started draws its ID. The
// identity and the number of this start are durable when load returns.
func (r *records) load(cluster string) (identity, []algo.Message, error) {
	self, saved, err := r.read()
	switch {
	case err != nil:
		return self, nil, err
	case self.ID.IsZero():
		// Starts of an empty folder begin with the time in seconds, so that they grow at one address also if
		// the folder was emptied.
		self = identity{ID: algo.NodeID(uuid.New()), Cluster: cluster, Starts: uint32(time.Now().Unix())}
	case self.Cluster != cluster:
		return self, nil, &algo.SettingError{Field: "data_dir", Got: r.folder + ", that of a member of cluster " + self.Cluster,
			Want: "one of cluster " + cluster + ", or an empty one"}
	}
	self.Starts++
	return self, saved, r.save(self)
}

// read returns what was saved: the identity, which is zero if that was nothing, and the rest.
func (r *records) read() (self identity, saved []algo.Message, err error) {
	state, err := r.store.Load()
	if err != nil {
		return self, nil, err
	}
	for len(state) > 0 {
		var record algo.Message
		if record, state, err = r.next(state); err != nil {
			return self, nil, fmt.Errorf("cluster: record %d of %s: of another version of elect, or %w", len(r.values)+1, r.folder, errors.Join(store.ErrDamaged, err))
		}
		if record, ok := record.(identity); ok {
			self = record
			continue
		}
		saved = append(saved, record)
	}
	if self.ID.IsZero() && len(saved) > 0 {
		return self, nil, fmt.Errorf("cluster: %s has records but no identity: %w", r.folder, store.ErrDamaged)
	}
	return self, saved, nil
}

// next takes the first record from what save has made.
func (r *records) next(state []byte) (record algo.Message, rest []byte, err error) {
	size, n := binary.Uvarint(state)
	if n <= 0 || size > uint64(len(state)-n) {
		return nil, nil, errors.New("it is cut off")
	}
	value, rest := state[n:n+int(size)], state[n+int(size):]
	if record, err = recordCodec.Decode(value); err != nil {
		return nil, nil, err
	}
	if _, repeat := algo.Unwrap(record); repeat || r.values[record.Kind()] != nil {
		return nil, nil, fmt.Errorf("it is the second of kind %q", record.Kind())
	}
	r.values[record.Kind()] = value
	return record, rest, nil
}

// save keeps all of the records at once, each instead of the one of its kind. What is
// stored is all that is kept, each after its length, in the order of kinds.
func (r *records) save(saved ...algo.Message) error {
	for _, m := range saved {
		value, err := recordCodec.Append(nil, m)
		if err != nil {
			return err
		}
		r.values[m.Kind()] = value
	}
	var state []byte
	for _, kind := range slices.Sorted(maps.Keys(r.values)) {
		state = binary.AppendUvarint(state, uint64(len(r.values[kind])))
		state = append(state, r.values[kind]...)
	}
	return r.store.Save(state)
}

// newClusterID returns the ID of the cluster if this node bootstraps it. Without a quorum the ID follows from the
// name. A node that ran without a quorum, and gets one, keeps it, so that its fencing tokens
// stay comparable.
func newClusterID(c *Config, needsQuorum bool, saved []algo.Message) algo.NodeID {
	hasRun := slices.ContainsFunc(saved, func(m algo.Message) bool { return m.Kind() == engine.SavedState{}.Kind() })
	if needsQuorum && !hasRun {
		return algo.NodeID(uuid.New())
	}
	return algo.NodeID(uuid.NewSHA1(uuid.NameSpaceURL, []byte("elect:"+c.Cluster)))
}
