package cluster

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/store"
	"github.com/elect-go/elect/internal/wire"
)

// identity is the record of who this member is.
type identity struct {
	ID      algo.NodeID
	Cluster string `wire:"max=64"` // the name of the cluster
}

func (identity) Kind() string { return "node" }

// records is what a node keeps, in a store.
type records struct {
	store  store.Store
	folder string // what errors call the store
	codec  *wire.Codec
}

func newRecords(s store.Store, folder string) (*records, error) {
	codec, err := wire.NewCodec(append(engine.Records(), identity{})...)
	if folder == "" {
		folder = "the store"
	}
	return &records{store: s, folder: folder, codec: codec}, err
}

// load returns who this node is and what else was saved. A node that never started
// draws its ID, which is durable when load returns.
func (r *records) load(cluster string) (algo.NodeID, []algo.Message, error) {
	kept, err := r.store.Load()
	if err != nil {
		return algo.NodeID{}, nil, err
	}
	var self identity
	var saved []algo.Message
	for _, key := range slices.SortedFunc(maps.Keys(kept), strings.Compare) {
		record, err := r.codec.Decode(kept[key])
		if err == nil && record.Kind() != key {
			err = fmt.Errorf("it holds a record %q", record.Kind())
		}
		if err != nil {
			return algo.NodeID{}, nil, fmt.Errorf("cluster: record %q of %s: %w", key, r.folder, errors.Join(store.ErrDamaged, err))
		}
		if record, ok := record.(identity); ok {
			self = record
			continue
		}
		saved = append(saved, record)
	}
	switch {
	case self.ID.IsZero() && len(saved) > 0:
		return algo.NodeID{}, nil, fmt.Errorf("cluster: %s has records but no identity: %w", r.folder, store.ErrDamaged)
	case self.ID.IsZero():
		self = identity{ID: algo.NodeID(uuid.New()), Cluster: cluster}
		err = r.save(self)
	case self.Cluster != cluster:
		err = &ConfigError{Field: "data", Got: r.folder + ", that of a member of cluster " + self.Cluster,
			Want: "one of cluster " + cluster + ", or an empty one"}
	}
	return self.ID, saved, err
}

// save keeps all of the records in one transaction, each under its kind.
func (r *records) save(saved ...algo.Message) error {
	batch := make([]store.Record, len(saved))
	for i, m := range saved {
		value, err := r.codec.Append(nil, m)
		if err != nil {
			return err
		}
		batch[i] = store.Record{Key: m.Kind(), Value: value}
	}
	return r.store.Save(batch...)
}

// newCluster is the ID of the cluster if this node founds it. Members of a fixed set
// all found it: they draw the same ID, unless their lists differ.
func newCluster(c *Config) algo.NodeID {
	if len(c.Members) == 0 {
		return algo.NodeID(uuid.New())
	}
	sorted := slices.Sorted(slices.Values(c.Members))
	return algo.NodeID(uuid.NewSHA1(uuid.NameSpaceURL, []byte("elect:"+c.Cluster+"?"+strings.Join(sorted, ","))))
}

// newIncarnation tells this run of the node from its others. It is never zero.
func newIncarnation() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:]) | 1
}
