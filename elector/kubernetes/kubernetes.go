// Package kubernetes elects a leader with a Lease of Kubernetes (coordination.k8s.io/v1). It is a module of its own, so
// that other users do not download the client of Kubernetes.
//
//	e, err := kubernetes.New(kubernetes.Config{Namespace: "shop", Lease: "leader", Name: os.Getenv("POD_NAME")})
//	if err != nil {
//		return err
//	}
//	err = elector.Run(ctx, e, func(ctx context.Context, l elector.Leadership) error {
//		return work(ctx) // while this contender leads
//	})
//
// The Lease has the fields that package leaderelection of client-go writes, so "kubectl get lease" shows the holder.
// An annotation adds the token, the metadata, and which run of a contender holds the Lease. Contenders of client-go can
// take part in the same election.
//
// The package uses the typed client, and not resourcelock.LeaseLock. LeaseLock hides the resource version and the
// annotations, which hold the token. It cannot distinguish two runs with one name.
//
// # Guarantees
//
// At most one contender works at any moment, as long as the rates of any two clocks differ by less than a tenth. The
// work ends with the RenewDeadline: at most nine tenths of the LeaseDuration. It counts from the moment when this
// contender last sent a renewal that the API server has confirmed. Another contender takes the Lease only after it has
// seen the same record for the whole duration, by its own clock. It writes with the resource version that it has read,
// so a renewal in between prevents the takeover. The times in the Lease are for readers: no contender compares them
// with its clock.
//
// The token is the resource version that the takeover replaced. Only one takeover can replace it, and a later one
// replaces a higher one. Since Kubernetes 1.35 the API promises that resource versions of one resource are integers
// that rise: see k8s.io/apimachinery/pkg/util/resourceversion. In earlier versions they are the revisions of etcd.
//
// A deleted Lease resets neither promise. The field leaseTransitions begins again with a new Lease, but resource
// versions do not. The holder may still work. So a Lease without a holder is taken only after it was seen for
// its duration, unless the last holder has released it. That is also so at the very first start: it takes one
// LeaseDuration.
//
// If a write has no answer, the contender assumes for its deadline that the write was not sent, and otherwise that it
// was. It reads the Lease before the next write. A contender never takes up a leadership that it cannot date. If it
// finds itself as the holder, it takes the Lease again, with a new token.
//
// Watch does not depend on one watch of the API. A contender also reads the Lease once in each RetryPeriod. Error 410
// (Gone), a closed connection or a restart of the API server delays a state, and does not end Watch. A contender that
// has seen no renewal for the duration of the Lease reports that no leader is known. It ignores a version that is older
// than one which it has seen.
//
// # Non-guarantees
//
// The promises end when an operator edits the holder or the annotation, or restores a backup of the API server's
// storage. The work ends when the contender learns of it, or at its deadline. Contenders of client-go keep only the
// promises of client-go. Their Leadership has leaseTransitions plus one as token, in a scope of its own. They answer no
// call of a resignation, and a Lease that they have released counts as a new one.
//
// Contenders with different LeaseDurations keep the promises only while the Lease is not deleted.
//
// Contenders have no priority. After a crash the next contender waits for the LeaseDuration, even a restarted one with
// the same name. Another process with proof of the end can shorten the wait: see [GiveUp]. The watchdog of
// elect-kubernetes does that.
//
// # Cost
//
// Each contender reads the Lease and opens a watch once in each RetryPeriod, and the holder writes it as often. That is
// three times in each LeaseDuration unless Config says otherwise. A resignation first asks through the Lease whether
// another contender is there. Without an answer within half of the LeaseDuration it fails with ErrNoOther.
//
// The contender needs the verbs get, watch, create and update for the Lease. Without watch it still reads the Lease
// once in each RetryPeriod.
package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/contender"
)

// Config configures a contender. The zero value of REST and Namespace fits a process in a pod.
type Config struct {
	// REST states how to reach the API server, and how to authenticate: see rest.InClusterConfig and package clientcmd
	// of client-go. The contender makes connections of its own with it. It does not use Timeout, and sends without the
	// client's rate limit. Default: that of the pod in which the process runs.
	REST *rest.Config
	// Namespace is the namespace of the Lease. Default: that of the pod, if REST is nil.
	Namespace string
	// Lease is the name of the Lease, the same for all contenders.
	Lease string
	// LeaseDuration is the time after which a crashed leader is replaced: a number of whole seconds, the same for all
	// contenders. Default: 15 s. It and the next two fields are those of client-go.
	LeaseDuration time.Duration
	// RenewDeadline is the time after this contender last sent a renewal that the API server has confirmed, at which its
	// work ends. Default, and the most: nine tenths of the LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two renewals, and between two readings of the Lease. At most half of the
	// RenewDeadline. Default: a third of the LeaseDuration, or half of the RenewDeadline if that is less.
	RetryPeriod time.Duration
	// Name is the name of this contender, unique in the election; client-go calls it the identity. Default: the name of
	// the host, which is that of the pod, and the process ID.
	Name string
	// Meta is what this contender publishes as a leader, in the annotation.
	Meta map[string]string
	// Cluster tells the scopes of tokens of several Kubernetes clusters apart. It is needed if one resource checks
	// tokens of elections in several of them. It is the same for all contenders. Default: empty.
	Cluster string
	// DrainTimeout is the time for which this contender waits until its work has returned. After it the contender stops
	// to renew the Lease, and lets it expire. Default: 5 s.
	DrainTimeout time.Duration
	// Logger receives the log. Default: no log.
	Logger *slog.Logger
}

// Elector is one contender. It is an [elector.Elector].
type Elector struct {
	config  Config
	log     *slog.Logger
	now     func() time.Duration // the clock: contender.Now
	started atomic.Bool
	state   *contender.Contender
	current atomic.Pointer[leadership]
}

var _ elector.Elector = (*Elector)(nil)

// namespaceFile is where Kubernetes tells a pod its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// New returns a contender that is not started. It does not connect. The error contains all problems of the
// configuration.
func New(c Config) (*Elector, error) {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("kubernetes: "+format, args...))
		}
	}
	if c.REST == nil {
		var err error
		c.REST, err = rest.InClusterConfig()
		check(err == nil, "REST is empty, and the process runs in no pod: %w", err)
		if c.Namespace == "" && err == nil {
			namespace, err := os.ReadFile(namespaceFile)
			check(err == nil, "namespace of the pod: %w", err)
			c.Namespace = strings.TrimSpace(string(namespace))
		}
	}
	host, _ := os.Hostname()
	c.Name = cmp.Or(c.Name, fmt.Sprintf("%s-%d", cmp.Or(host, "host"), os.Getpid()))
	c.LeaseDuration = cmp.Or(c.LeaseDuration, 15*time.Second)
	usable := contender.Usable(c.LeaseDuration)
	c.RenewDeadline = cmp.Or(c.RenewDeadline, usable)
	c.RetryPeriod = cmp.Or(c.RetryPeriod, min(c.LeaseDuration/3, c.RenewDeadline/2))
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 5*time.Second)
	checkName := func(what, name string, mistakes []string) {
		check(len(mistakes) == 0, "%s is %q, want a name of Kubernetes: %s", what, name, strings.Join(mistakes, "; "))
	}
	checkName("namespace", c.Namespace, validation.IsDNS1123Label(c.Namespace))
	checkName("lease", c.Lease, validation.IsDNS1123Subdomain(c.Lease))
	check(c.LeaseDuration >= time.Second && c.LeaseDuration%time.Second == 0, "lease duration is %v, want whole seconds, at least 1s", c.LeaseDuration)
	check(c.RenewDeadline > 0 && c.RenewDeadline <= usable, "renew deadline is %v, want at most nine tenths of the lease duration: %v", c.RenewDeadline, usable)
	check(c.RetryPeriod > 0 && c.RetryPeriod <= c.RenewDeadline/2, "retry period is %v, want at most half of the renew deadline: %v", c.RetryPeriod, c.RenewDeadline/2)
	check(c.DrainTimeout > 0, "drain timeout is %v, want a positive one", c.DrainTimeout)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	c.Meta = maps.Clone(c.Meta)
	e := &Elector{config: c, log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), now: contender.Now}
	e.state = contender.New(contender.Config{Engine: "kubernetes", Name: c.Name, GiveUp: e.giveUp, ResignTimeout: c.DrainTimeout + 3*c.LeaseDuration, Log: e.log})
	return e, nil
}

// Claims returns what a Lease promises: one leader at any moment, rising tokens, and no priority.
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
