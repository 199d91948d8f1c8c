package member

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/rafthttp"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	stats "go.etcd.io/etcd/server/v3/etcdserver/api/v2stats"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// etcdMember runs a raft.Node with its log, its connections and its clock.
type etcdMember struct {
	*member
	tick      time.Duration
	node      raft.Node
	storage   *raft.MemoryStorage
	log       *wal.WAL
	transport *rafthttp.Transport

	leads  bool
	leader uint64
	term   uint64
}

func startEtcd(m *member, c etcdConfig) error {
	e := &etcdMember{member: m, tick: c.tick, storage: raft.NewMemoryStorage()}
	known, err := e.openLog()
	if err != nil {
		return err
	}
	c.ID, c.Storage = uint64(m.number(m.listen)), e.storage
	if known {
		e.node = raft.RestartNode(&c.Config)
	} else {
		var all []raft.Peer
		for i := range m.members {
			all = append(all, raft.Peer{ID: uint64(i + 1)})
		}
		e.node = raft.StartNode(&c.Config, all)
	}
	if err := e.connect(); err != nil {
		return err
	}
	go e.run()
	return nil
}

// openLog opens the write-ahead log and fills the storage from it. known reports whether the log
// existed. It holds a few entries for each election, so it needs no snapshot.
func (e *etcdMember) openLog() (known bool, err error) {
	dir := filepath.Join(e.data, "wal")
	if !wal.Exist(dir) {
		e.log, err = wal.Create(zap.NewNop(), dir, nil)
		return false, err
	}
	if e.log, err = wal.Open(zap.NewNop(), dir, &walpb.Snapshot{Index: proto.Uint64(0), Term: proto.Uint64(0)}); err != nil {
		return true, err
	}
	_, state, entries, err := e.log.ReadAll()
	if err != nil {
		return true, err
	}
	if state != nil {
		e.term = state.GetTerm()
		if err := e.storage.SetHardState(state); err != nil {
			return true, err
		}
	}
	return true, e.storage.Append(entries)
}

// connect listens and dials the other members.
func (e *etcdMember) connect() error {
	id := strconv.Itoa(e.number(e.listen))
	e.transport = &rafthttp.Transport{
		Logger: zap.NewNop(), ID: types.ID(e.number(e.listen)), ClusterID: 1, Raft: e,
		Snapshotter: snap.New(zap.NewNop(), e.data), ErrorC: make(chan error, 1),
		ServerStats: stats.NewServerStats(e.name, id), LeaderStats: stats.NewLeaderStats(zap.NewNop(), id),
	}
	if err := e.transport.Start(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", e.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: e.transport.Handler(), ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // the listener is never closed
		}
	}()
	e.others(func(number int, addr string) {
		e.transport.AddPeer(types.ID(number), []string{"http://" + addr})
	})
	return nil
}

// run is the loop that the library requires.
func (e *etcdMember) run() {
	ticks := time.NewTicker(e.tick)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			e.node.Tick()
		case ready := <-e.node.Ready():
			if err := e.handle(ready); err != nil {
				panic(err) // a promise to peers may not be durable
			}
			e.node.Advance()
		case err := <-e.transport.ErrorC:
			panic(err)
		}
	}
}

func (e *etcdMember) handle(ready raft.Ready) error {
	e.observe(ready)
	// A leader may send while it saves, as etcd's server does: thesis, 10.2.1.
	if e.leads {
		e.transport.Send(ready.Messages)
	}
	if err := e.log.Save(ready.HardState, ready.Entries); err != nil {
		return err
	}
	if err := e.storage.Append(ready.Entries); err != nil {
		return err
	}
	if !e.leads {
		e.transport.Send(ready.Messages)
	}
	for _, entry := range ready.CommittedEntries {
		if entry.GetType() != raftpb.EntryConfChange {
			continue
		}
		var change raftpb.ConfChange
		if err := proto.Unmarshal(entry.GetData(), &change); err != nil {
			return err
		}
		e.node.ApplyConfChange(&change)
	}
	return nil
}

// observe reports the leader of this member before the save: the library calls the leader
// volatile, and etcd's server uses it before the save, too.
func (e *etcdMember) observe(ready raft.Ready) {
	if ready.HardState != nil {
		e.term = ready.HardState.GetTerm()
	}
	if ready.SoftState != nil {
		e.leads, e.leader = ready.RaftState == raft.StateLeader, ready.Lead
	}
	leader := ""
	if e.leader != raft.None {
		leader = name(int(e.leader))
	}
	e.events.follow(func() (string, uint64) { return leader, e.term })
}

// The transport calls the following methods.

func (e *etcdMember) Process(ctx context.Context, m *raftpb.Message) error {
	return e.node.Step(ctx, m)
}

func (e *etcdMember) IsIDRemoved(uint64) bool { return false }

func (e *etcdMember) ReportUnreachable(id uint64) { e.node.ReportUnreachable(id) }

func (e *etcdMember) ReportSnapshot(id uint64, status raft.SnapshotStatus) {
	e.node.ReportSnapshot(id, status)
}
