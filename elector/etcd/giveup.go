package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/elect-go/elect/elector"
)

// giveUp ends the leadership with a token if another contender waits. Without one no contender would lead after it.
func (e *Elector) giveUp(ctx context.Context, token uint64) error {
	c := e.current.Load()
	if c == nil {
		return nil // it is over
	}
	resp, err := c.client.Get(ctx, e.config.Prefix+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(2))
	switch {
	case err != nil:
		return fmt.Errorf("read the other contenders: %w", err)
	case len(resp.Kvs) < 2:
		return elector.ErrNoOther
	}
	e.state.EndLeadership(token, elector.ErrResigned)
	return nil
}

// GiveUp gives up the leadership with a token in place of its contender, so that the next one need not wait for the
// TTL. Call it only with proof that the process of the contender and all of its work have ended. It does nothing if
// that leadership is over. The name and the metadata of the configuration have no meaning here.
func GiveUp(ctx context.Context, c Config, token uint64) error {
	e, err := New(c)
	if err != nil {
		return err
	}
	client, err := e.client(ctx)
	if err != nil {
		return fmt.Errorf("etcd: connect: %w", err)
	}
	defer client.Close()
	resp, err := client.Get(ctx, e.config.Prefix+"/", clientv3.WithPrefix(), clientv3.WithMinCreateRev(int64(token)), clientv3.WithMaxCreateRev(int64(token)))
	if err != nil {
		return fmt.Errorf("etcd: read the key of the leadership: %w", err)
	}
	for _, kv := range resp.Kvs {
		key := string(kv.Key)
		_, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", int64(token))).Then(clientv3.OpDelete(key)).Commit()
		if err != nil {
			return fmt.Errorf("etcd: delete the key of the leadership: %w", err)
		}
	}
	return nil
}
