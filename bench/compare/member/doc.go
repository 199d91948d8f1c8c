// Package member runs one process of another project's cluster, so that it can be
// measured as one of ours is: it takes the flags of elect node, and it writes the events
// of elect node, each with a timestamp of the clock that all processes share.
//
// Each library is made as its own documentation recommends, with the storage and the
// transport of its makers:
//
//   - hashicorp/raft: DefaultConfig, raft-boltdb, the file snapshot store and the TCP
//     transport.
//   - etcd's raft: the configuration of its README with ticks of 100 ms, as etcd and its
//     raftexample have them, on etcd's write-ahead log and etcd's transport. The library
//     has no storage, no transport and no unit of time of its own.
//   - memberlist: DefaultLocalConfig, which its README shows. It keeps nothing on disk and
//     elects no leader.
//
// A state machine is not measured: it is empty, as an application's would be that wants
// no more than a leader.
package member
