package etcd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/elect-go/elect/elector"
)

// Observe iterates over the leaders of an election, without taking part in it: first the current leader, then each
// later one. The Token of a vacancy is zero. A slow reader skips all but the latest.
//
// An error means that etcd has not responded for the TTL of the configuration, so that the leader is unknown. Then
// Observe tries again. It ends with ctx, and after an error of the configuration, the authentication or the permissions.
// The name and the metadata of the configuration have no meaning here.
func Observe(ctx context.Context, c Config) iter.Seq2[elector.Leadership, error] {
	return func(yield func(elector.Leadership, error) bool) {
		e, err := New(c)
		if err != nil {
			yield(elector.Leadership{}, err)
			return
		}
		o := observer{Elector: e, yield: yield, answered: now()}
		for ctx.Err() == nil && !o.ended {
			o.observe(ctx)
		}
	}
}

// observer reads the leaders for an iteration.
type observer struct {
	*Elector
	yield    func(elector.Leadership, error) bool
	ended    bool
	answered time.Duration // when etcd responded last

	began  bool // a leader or an error was yielded
	leader elector.Leadership
	failed string // text of the last error; empty after a leader
}

// observe reads with one connection until a read fails: what a client does after an error depends on the error.
func (o *observer) observe(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := o.client(ctx)
	if err != nil {
		o.fail(ctx, fmt.Errorf("etcd: connect: %w", o.explain(err)))
		return
	}
	defer client.Close()
	r := reader{client, o.config.Prefix}
	for ctx.Err() == nil && !o.ended {
		reading, endReading := context.WithTimeout(clientv3.WithRequireLeader(ctx), o.ttl()/3)
		l, key, revision, err := r.read(reading)
		if err != nil {
			endReading()
			o.fail(ctx, fmt.Errorf("etcd: read the leader from %s: %w", strings.Join(o.config.Endpoints, ", "), o.explain(err)))
			return
		}
		o.answered = now()
		if !o.began || o.failed != "" || !isSame(l, o.leader) {
			o.began, o.leader, o.failed = true, l, ""
			o.ended = !o.yield(l, nil)
		}
		if !o.ended && !r.awaitChange(reading, key, revision+1) && reading.Err() == nil {
			sleep(reading, o.ttl()/50)
		}
		endReading()
	}
}

// fail yields an error that ends the iteration, or that has lasted for the TTL, and waits before the next attempt.
func (o *observer) fail(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case isFatal(err):
		o.yield(elector.Leadership{}, err)
		o.ended = true
		return
	case now()-o.answered >= o.ttl() && err.Error() != o.failed:
		o.began, o.failed = true, err.Error()
		o.ended = !o.yield(elector.Leadership{}, err)
	}
	sleep(ctx, o.ttl()/50)
}

// isSame reports whether two leaderships are the same for a reader.
func isSame(a, b elector.Leadership) bool {
	return a.Name == b.Name && a.Token == b.Token && a.Scope == b.Scope && maps.Equal(a.Meta, b.Meta)
}

// sleep waits, and reports false if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// reader reads the leader of an election.
type reader struct {
	client *clientv3.Client
	prefix string // of the election, without a slash at the end
}

// read returns the leader, or an empty leadership if no key is there; the leader's key; and the revision of the store.
func (r reader) read(ctx context.Context) (l elector.Leadership, key string, revision int64, err error) {
	resp, err := r.client.Get(ctx, r.prefix+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return l, "", 0, err
	}
	if len(resp.Kvs) > 0 {
		kv := resp.Kvs[0]
		key = string(kv.Key)
		name, meta := decode(kv.Value)
		l = elector.Leadership{Name: name, Token: uint64(kv.CreateRevision), Scope: scope(resp.Header.ClusterId, r.prefix), Meta: meta}
	}
	return l, key, resp.Header.Revision, nil
}

// awaitChange waits until the leader may be another one than that with the key, and reports true. It reports false when
// ctx has ended, and when etcd has cancelled the watch, for example after a compaction.
func (r reader) awaitChange(ctx context.Context, key string, revision int64) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range r.client.Watch(ctx, r.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(revision)) {
		for _, event := range resp.Events {
			if key == "" || string(event.Kv.Key) == key {
				return true
			}
		}
	}
	return false
}

// scope returns the scope of the tokens: a hash of the etcd cluster and the prefix.
func scope(cluster uint64, prefix string) (scope [16]byte) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %s", cluster, prefix))
	copy(scope[:], sum[:])
	return scope
}
