package etcd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/contender"
)

// Observe iterates over the leaders of an election, without taking part in it: first the current leader, then each
// later one. The Token of a vacancy is zero. A slow reader skips all but the latest.
//
// An error means that etcd has not responded for the TTL of the configuration, so that the leader is unknown. Then
// Observe tries again. It ends with ctx, and after an error of the configuration, the authentication or the
// permissions. The name and the metadata of the configuration have no meaning here.
func Observe(ctx context.Context, c Config) iter.Seq2[elector.Leadership, error] {
	return func(yield func(elector.Leadership, error) bool) {
		e, err := New(c)
		if err != nil {
			yield(elector.Leadership{}, err)
			return
		}
		contender.Observe(ctx, e.ttl(), contender.Now, func(ctx context.Context, o *contender.Observer) {
			for ctx.Err() == nil && !isFatal(err) {
				err = e.observe(ctx, o)
			}
		}, yield)
	}
}

// observe reads with one connection until a read fails: what a client does after an error depends on the error.
func (e *Elector) observe(ctx context.Context, o *contender.Observer) error {
	fail := func(what string, err error) error {
		err = fmt.Errorf("etcd: %s: %w", what, e.explain(err))
		switch {
		case ctx.Err() != nil:
		case isFatal(err):
			o.End(err)
		default:
			o.Report(err)
			sleep(ctx, e.ttl()/50)
		}
		return err
	}
	client, err := e.client(ctx)
	if err != nil {
		return fail("connect", err)
	}
	defer client.Close()
	r := reader{client, e.config.Prefix}
	for ctx.Err() == nil {
		reading, endReading := context.WithTimeout(clientv3.WithRequireLeader(ctx), e.ttl()/3)
		l, key, revision, err := r.read(reading)
		if err != nil {
			endReading()
			return fail("read the leader from "+strings.Join(e.config.Endpoints, ", "), err)
		}
		o.Show(l)
		o.Report(nil)
		if !r.awaitChange(reading, key, revision+1) && reading.Err() == nil {
			sleep(reading, e.ttl()/50)
		}
		endReading()
	}
	return nil
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
