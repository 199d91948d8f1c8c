package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the providers that a kubeconfig may name
	"k8s.io/client-go/tools/clientcmd"

	"github.com/elect-go/elect/cli"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/internal/contender"
	"github.com/elect-go/elect/elector/kubernetes"
)

const form = "kubernetes://[NAMESPACE]/LEASE"

// engine is Kubernetes for the command.
func engine() cli.Engine {
	return cli.Engine{
		Name: "kubernetes", Form: form, Example: "kubernetes://shop/leader",
		About: `--elector names the Lease of the election, the same for all contenders. Without a namespace, as in
kubernetes:///leader, the Lease is in that of the kubeconfig's context, or of the pod. In a pod the command
needs no other flag of Kubernetes. Its service account needs the verbs get, watch, create and update for
the Lease, and for watch the first two.

The flags that choose and reach the API server are those of kubectl: --kubeconfig, --context, --namespace
and the like. So is the variable KUBECONFIG. Without any of them the command uses ~/.kube/config if that
file exists, and otherwise the service account of the pod.`,
		New:    func(set *pflag.FlagSet) cli.Election { return newOptions(set) },
		GiveUp: giveUp,
	}
}

// options are the flags of Kubernetes, with the names and the meanings of kubectl and of client-go's leader election.
type options struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides

	leaseDuration, renewDeadline, retryPeriod time.Duration

	config kubernetes.Config
}

// release is what giveUp needs. It is JSON.
type release struct {
	Kubeconfig    string // the value of the flag; the variable KUBECONFIG is the same in the watchdog
	Overrides     clientcmd.ConfigOverrides
	Lease         string
	LeaseDuration time.Duration
	Token         uint64
}

func newOptions(set *pflag.FlagSet) *options {
	o := &options{rules: clientcmd.NewDefaultClientConfigLoadingRules()}
	set.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second, "time after which a crashed leader is replaced: whole seconds, the same for all contenders")
	set.DurationVar(&o.renewDeadline, "renew-deadline", 0, "time since the last renewal after which COMMAND has ended (default and the most: nine tenths of --lease-duration)")
	set.DurationVar(&o.retryPeriod, "retry-period", 0, "time between two renewals (default: a third of --lease-duration)")
	set.StringVar(&o.rules.ExplicitPath, "kubeconfig", "", "`file` that names clusters, users and contexts (default: KUBECONFIG, or ~/.kube/config)")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.Timeout.LongName = "" // each request has a timeout that fits the lease
	clientcmd.BindOverrideFlags(&o.overrides, set, names)
	return o
}

// Parse reads the kubeconfig, and returns the mistakes.
func (o *options) Parse(address string) error {
	o.config = kubernetes.Config{LeaseDuration: o.leaseDuration, RenewDeadline: o.renewDeadline, RetryPeriod: o.retryPeriod}
	namespace, err := o.parseAddress(address)
	if err != nil {
		return errors.Join(err, o.connect())
	}
	if own := o.overrides.Context.Namespace; namespace != "" && own != "" && own != namespace {
		return fmt.Errorf("--namespace is %q, and --elector names the namespace %q: want one of them", own, namespace)
	}
	if namespace != "" {
		o.overrides.Context.Namespace = namespace
	}
	if err := o.connect(); err != nil {
		return err
	}
	_, err = kubernetes.New(o.config) // for watch, which makes no contender
	return err
}

// parseAddress reads the value of --elector, and returns the namespace; empty for none.
func (o *options) parseAddress(address string) (namespace string, err error) {
	rest, isKubernetes := strings.CutPrefix(address, "kubernetes://")
	namespace, o.config.Lease, _ = strings.Cut(rest, "/")
	if !isKubernetes || o.config.Lease == "" {
		return "", fmt.Errorf("--elector is %q, want %s", address, form)
	}
	return namespace, nil
}

// connect sets how to reach the API server, and the namespace.
func (o *options) connect() (err error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules, &o.overrides)
	if o.config.REST, err = loader.ClientConfig(); clientcmd.IsEmptyConfig(err) {
		return errors.New("no API server is known: want --kubeconfig, KUBECONFIG, ~/.kube/config or --server, or a pod with a service account")
	} else if err != nil {
		return fmt.Errorf("the kubeconfig: %w", err)
	}
	if o.config.Namespace, _, err = loader.Namespace(); err != nil {
		return fmt.Errorf("the kubeconfig: %w", err)
	}
	if raw, err := loader.RawConfig(); err == nil && o.overrides.CurrentContext == "" {
		o.overrides.CurrentContext = raw.CurrentContext // another program may change it while this one runs
	}
	return nil
}

// Contender returns a contender for the Lease.
func (o *options) Contender(c cli.Contender) (elector.Elector, error) {
	config := o.config
	config.Name, config.Meta, config.DrainTimeout, config.Logger = c.Name, c.Meta, c.DrainTimeout, c.Logger
	e, err := kubernetes.New(config)
	if err != nil {
		return nil, err // a nil *kubernetes.Elector is no nil interface
	}
	return e, nil
}

// Lease returns the part of the LeaseDuration in which the work must have ended.
func (o *options) Lease() time.Duration {
	return cmp.Or(o.renewDeadline, contender.Usable(o.leaseDuration))
}

// Observe iterates over the leaders.
func (o *options) Observe(ctx context.Context) iter.Seq2[elector.Leadership, error] {
	return kubernetes.Observe(ctx, o.config)
}

// Release returns the argument of giveUp for a leadership. The watchdog, a child of this process, gets it over a pipe.
func (o *options) Release(l elector.Leadership) []byte {
	text, err := json.Marshal(release{o.rules.ExplicitPath, o.overrides, o.config.Lease, o.leaseDuration, l.Token})
	if err != nil {
		panic(err) // it consists of texts and numbers
	}
	return text
}

// giveUp gives up a leadership, with as much time as its Lease has at most.
func giveUp(text []byte) error {
	var r release
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	o := options{rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: r.Overrides}
	o.rules.ExplicitPath = r.Kubeconfig
	o.config = kubernetes.Config{Lease: r.Lease, LeaseDuration: r.LeaseDuration}
	if err := o.connect(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.LeaseDuration)
	defer cancel()
	return kubernetes.GiveUp(ctx, o.config, r.Token)
}
