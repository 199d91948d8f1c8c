// Package etcd elects a leader with an etcd cluster. It is a module of its own, so that other users do not download the
// client of etcd.
//
//	e, err := etcd.New(etcd.Config{
//		Endpoints: []string{"10.0.0.1:2379", "10.0.0.2:2379"}, Prefix: "/service/leader", Name: "web3",
//	})
//	if err != nil {
//		return err
//	}
//	err = elector.Run(ctx, e, func(ctx context.Context, l elector.Leadership) error {
//		return work(ctx) // while this contender leads
//	})
//
// The keys are those of concurrency.Election of the client: one for each contender, below the prefix and with the lease
// of the contender. The oldest key leads. So contenders that use concurrency.Election or "etcdctl elect" with the same
// prefix take part in the same election.
//
// # Guarantees
//
// At most one contender works at any moment, as long as each clock runs at the right rate within a tenth. The work ends
// nine tenths of the TTL after this contender last sent a renewal that etcd has confirmed. etcd counts the whole TTL,
// and from a later moment. concurrency.Session counts from the moment when the answer arrives.
//
// The token is the create revision of the leader's key, so later leaders have higher tokens. A contender leads only
// after it has read its own key again: the key may have expired while its contender waited.
//
// Watch does not depend on one watch of etcd. A contender also reads the leader three times in each TTL. A closed
// channel, a compaction or a server that is cut off delays a state, and does not end Watch. A contender that has read
// nothing for a TTL reports that no leader is known.
//
// A contender that has lost its lease begins again with a new connection and a new lease.
//
// If etcd has no space left (its alarm NOSPACE), a leader leads on, and each contender that already waits may follow
// it. A contender without a lease gets none: it shows the leader, logs the error of etcd, and waits in the queue as
// soon as the alarm is disarmed.
//
// # Non-guarantees
//
// The promises end when an operator deletes the key of the leader, revokes its lease or restores a backup of etcd. The
// work ends when the contender learns of it. Servers before etcd 3.6 may renew a lease that has expired, after a
// change of the leader among them.
//
// Contenders have no priority: they lead in the order in which they came. After a crash the next contender waits for
// the TTL. Another process with proof of the end can shorten the wait: see [GiveUp]. The watchdog of elect-etcd does
// that.
//
// # Cost
//
// Each contender renews its lease and reads the leader three times in each TTL, and has one watch.
package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/contender"
)

// Config configures a contender. The fields that clientv3.Config has, too, mean the same there.
type Config struct {
	// Endpoints are the addresses of the servers of etcd.
	Endpoints []string
	// TLS is the configuration of TLS. Default: none.
	TLS *tls.Config
	// Username and Password authenticate this contender. Default: none.
	Username, Password string
	// DialOptions are options of gRPC.
	DialOptions []grpc.DialOption

	// Prefix is the prefix of the keys, the same for all contenders, without a slash at the end.
	Prefix string
	// TTL is the time to live of the lease in seconds: the time after which a crashed leader is replaced. The servers
	// raise it to their minimum, which is 2 by default. Default: 10.
	TTL int
	// Name is the name of this contender, unique in the election. Default: the name of the host and the process ID.
	Name string
	// Meta is what this contender publishes as a leader. With it, the value of the key is {"name": …, "meta": …};
	// without it, the value is the name.
	Meta map[string]string
	// DrainTimeout is the time for which this contender waits until its work has returned before it gives the
	// leadership up. Default: 5 s.
	DrainTimeout time.Duration
	// Logger receives the log. Default: no log.
	Logger *slog.Logger
}

// revokeTimeout limits the attempt to revoke the lease at the end of a candidacy. Without success the lease expires.
const revokeTimeout = time.Second

// Elector is one contender. It is an [elector.Elector].
type Elector struct {
	config  Config
	log     *slog.Logger
	value   string // of the key
	started atomic.Bool
	state   *contender.Contender
	current atomic.Pointer[candidacy]
	logged  atomic.Value // string: the last error of a candidacy that was logged; empty after the grant of a lease

	handshake atomic.Pointer[error] // failure of the last handshake of TLS; nil for none
}

var _ elector.Elector = (*Elector)(nil)

// New returns a contender that is not started. It does not connect. The error contains all problems of the
// configuration.
func New(c Config) (*Elector, error) {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("etcd: "+format, args...))
		}
	}
	host, _ := os.Hostname()
	c.Name = cmp.Or(c.Name, fmt.Sprintf("%s-%d", cmp.Or(host, "host"), os.Getpid()))
	c.TTL = cmp.Or(c.TTL, 10)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 5*time.Second)
	check(len(c.Endpoints) > 0, "endpoints are empty, want addresses such as 10.0.0.1:2379")
	check(c.Prefix != "" && !strings.HasSuffix(c.Prefix, "/"), "prefix is %q, want a prefix such as /service/leader", c.Prefix)
	check(c.TTL > 0, "ttl is %d s, want at least 1 s", c.TTL)
	check(c.DrainTimeout > 0, "drain timeout is %v, want a positive one", c.DrainTimeout)
	check(!strings.HasPrefix(c.Name, "{"), "name is %q, want one that does not begin with {", c.Name)
	check((c.Username == "") == (c.Password == ""), "a user name or a password is missing, want both or none")
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	c.Meta = maps.Clone(c.Meta)
	e := &Elector{config: c, log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), value: encode(c.Name, c.Meta)}
	e.state = contender.New(contender.Config{Engine: "etcd", Name: c.Name, GiveUp: e.giveUp, ResignTimeout: c.DrainTimeout + 3*e.ttl(), Log: e.log})
	return e, nil
}

func (e *Elector) ttl() time.Duration { return time.Duration(e.config.TTL) * time.Second }

// Claims returns what etcd promises: one leader at any moment, rising tokens, and no priority.
func (e *Elector) Claims() elector.Claims { return elector.Claims{Exclusive: true, RisingTokens: true} }

// Leader returns the leader that this contender has read last: see [elector.Elector].
func (e *Elector) Leader() (elector.Leadership, bool) { return e.state.Leader() }

// Watch iterates over the states: see [elector.Elector].
func (e *Elector) Watch(ctx context.Context) iter.Seq[elector.State] { return e.state.Watch(ctx) }

// Lead calls work whenever this contender leads: see [elector.Elector].
func (e *Elector) Lead(ctx context.Context, work func(ctx context.Context, l elector.Leadership) error) error {
	return e.state.Lead(ctx, work)
}

// Resign gives up the leadership: see [elector.Elector].
func (e *Elector) Resign(ctx context.Context) error { return e.state.Resign(ctx) }

// client returns a client of etcd. Its calls end with ctx.
func (e *Elector) client(ctx context.Context) (*clientv3.Client, error) {
	options := e.config.DialOptions
	if e.config.TLS != nil {
		own := grpc.WithTransportCredentials(handshakes{credentials.NewTLS(e.config.TLS), &e.handshake})
		options = append([]grpc.DialOption{own}, options...)
	}
	return clientv3.New(clientv3.Config{
		Endpoints: e.config.Endpoints, TLS: e.config.TLS, Username: e.config.Username, Password: e.config.Password,
		DialOptions: options, Context: ctx, Logger: zap.NewNop(),
		// A connection closes after these times if its other end is cut off. gRPC allows no shorter one than 10 s.
		DialTimeout: 5 * time.Second, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
	})
}

// published is the value of a key with metadata.
type published struct {
	Name string            `json:"name"`
	Meta map[string]string `json:"meta"`
}

func encode(name string, meta map[string]string) string {
	if len(meta) == 0 {
		return name
	}
	text, err := json.Marshal(published{name, meta})
	if err != nil {
		panic(err) // strings are always encoded
	}
	return string(text)
}

// decode returns the name and the metadata in the value of a key. A value of another form is a name.
func decode(value []byte) (name string, meta map[string]string) {
	var p published
	if err := json.Unmarshal(value, &p); err != nil || p.Name == "" {
		return string(value), nil
	}
	return p.Name, p.Meta
}
