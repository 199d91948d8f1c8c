package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/elect-go/elect/cli"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/etcd"
	"github.com/elect-go/elect/elector/internal/contender"
)

const form = "etcd://HOST:PORT[,HOST:PORT...]/PREFIX"

// engine is etcd for the command.
func engine() cli.Engine {
	return cli.Engine{
		Name: "etcd", Form: form, Example: "etcd://10.0.0.1:2379,10.0.0.2:2379/service/leader",
		About: `--elector names the servers of etcd, and the prefix of the election: /PREFIX, the same for all contenders.
The other flags of etcd are those of etcdctl. Each of them may also be a variable of the environment, as
for etcdctl: --cacert is ETCDCTL_CACERT. A flag overrides its variable. A password belongs into
ETCDCTL_PASSWORD, because other users of this machine see the command line.

With --cacert, --cert, --key, --insecure-skip-tls-verify or --insecure-transport=false the connections use
TLS. The certificate and its key are read again for each connection.`,
		New: func(set *pflag.FlagSet) cli.Election {
			o := &options{environment: os.LookupEnv, set: set}
			o.register()
			return o
		},
		GiveUp: giveUp,
	}
}

// options are the flags of etcd, with the names and the meanings of etcdctl.
type options struct {
	set         *pflag.FlagSet
	environment func(name string) (string, bool)

	security
	user, password string
	ttl            int

	config etcd.Config
}

// security is the part of the flags that configures TLS.
type security struct {
	CACert, Cert, Key string // files
	SkipVerify        bool
	InsecureTransport bool
}

// release is what giveUp needs. It is JSON.
type release struct {
	Endpoints                  []string
	Prefix, Username, Password string
	TTL                        int
	Security                   security
	Token                      uint64
}

func (o *options) register() {
	o.set.StringVar(&o.CACert, "cacert", "", "verify the certificates of the servers with this bundle of CA certificates, a `file`")
	o.set.StringVar(&o.Cert, "cert", "", "identify this client with this TLS certificate, a `file`")
	o.set.StringVar(&o.Key, "key", "", "`file` with the key of --cert")
	o.set.BoolVar(&o.SkipVerify, "insecure-skip-tls-verify", false, "do not verify the certificates of the servers, for tests")
	o.set.BoolVar(&o.InsecureTransport, "insecure-transport", true, "no TLS, unless another flag asks for it")
	o.set.StringVar(&o.user, "user", "", "`USERNAME[:PASSWORD]` of this client")
	o.set.StringVar(&o.password, "password", "", "password of --user, if that has none")
	o.set.IntVar(&o.ttl, "ttl", 10, "`seconds` after which a crashed leader is replaced; etcd raises it to its own minimum, which is 2 by default")
}

// Parse reads the variables of the environment, and returns the mistakes.
func (o *options) Parse(address string) error {
	var mistakes []error
	mistake := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf(format, args...)) }
	for _, name := range []string{"cacert", "cert", "key", "insecure-skip-tls-verify", "insecure-transport", "user", "password"} {
		variable := "ETCDCTL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		text, given := o.environment(variable)
		if !given || o.set.Changed(name) {
			continue
		}
		if err := o.set.Set(name, text); err != nil {
			mistake("%s is %q, want true or false", variable, text)
		}
	}
	o.config = etcd.Config{TTL: o.ttl}
	var err error
	if o.config.Endpoints, o.config.Prefix, err = parseAddress(address); err != nil {
		mistake("%w", err)
	}
	if o.ttl < 1 {
		mistake("--ttl is %d, want at least 1 s", o.ttl)
	}
	name, password, joined := strings.Cut(o.user, ":")
	if joined && o.password != "" {
		mistake("--user has a password, and --password is set, too: want one of them")
	}
	o.config.Username, o.config.Password = name, cmp.Or(password, o.password)
	if (o.config.Username == "") != (o.config.Password == "") {
		mistake("--user or its password is missing, want both (--user and ETCDCTL_PASSWORD) or none")
	}
	if o.config.TLS, err = o.tls(); err != nil {
		mistake("%w", err)
	}
	return errors.Join(mistakes...)
}

// tls returns the configuration of TLS, or nil for none.
func (s security) tls() (*tls.Config, error) {
	if (s.Cert == "") != (s.Key == "") {
		return nil, errors.New("--cert or --key is missing, want both or none")
	}
	if s.CACert == "" && s.Cert == "" && !s.SkipVerify && s.InsecureTransport {
		return nil, nil
	}
	info := transport.TLSInfo{TrustedCAFile: s.CACert, CertFile: s.Cert, KeyFile: s.Key, InsecureSkipVerify: s.SkipVerify}
	config, err := info.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--cacert is %q, --cert is %q, --key is %q: %w", s.CACert, s.Cert, s.Key, err)
	}
	return config, nil
}

// parseAddress returns the endpoints and the prefix in the value of --elector.
func parseAddress(address string) (endpoints []string, prefix string, err error) {
	rest, isEtcd := strings.CutPrefix(address, "etcd://")
	hosts, prefix, _ := strings.Cut(rest, "/")
	if !isEtcd || hosts == "" || prefix == "" {
		return nil, "", fmt.Errorf("--elector is %q, want %s", address, form)
	}
	if strings.HasSuffix(prefix, "/") {
		return nil, "", fmt.Errorf("--elector is %q, want a prefix without a slash at the end", address)
	}
	for endpoint := range strings.SplitSeq(hosts, ",") {
		if host, port, err := net.SplitHostPort(endpoint); err != nil || host == "" || port == "" {
			return nil, "", fmt.Errorf("--elector names the server %q, want HOST:PORT", endpoint)
		}
		endpoints = append(endpoints, endpoint)
	}
	return endpoints, "/" + prefix, nil
}

// Contender returns a contender in the etcd.
func (o *options) Contender(c cli.Contender) (elector.Elector, error) {
	config := o.config
	config.Name, config.Meta, config.DrainTimeout, config.Logger = c.Name, c.Meta, c.DrainTimeout, c.Logger
	e, err := etcd.New(config)
	if err != nil {
		return nil, err // a nil *etcd.Elector is no nil interface
	}
	return e, nil
}

// Lease returns the part of the TTL in which the work must have ended.
func (o *options) Lease() time.Duration { return contender.Usable(time.Duration(o.ttl) * time.Second) }

// Observe iterates over the leaders.
func (o *options) Observe(ctx context.Context) iter.Seq2[elector.Leadership, error] {
	return etcd.Observe(ctx, o.config)
}

// Release returns the argument of giveUp for a leadership. The watchdog, a child of this process, gets it over a pipe.
func (o *options) Release(l elector.Leadership) []byte {
	c := o.config
	text, err := json.Marshal(release{c.Endpoints, c.Prefix, c.Username, c.Password, c.TTL, o.security, l.Token})
	if err != nil {
		panic(err) // it consists of texts and numbers
	}
	return text
}

// giveUp gives up a leadership, with as much time as its lease has at most.
func giveUp(text []byte) error {
	var r release
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	c := etcd.Config{Endpoints: r.Endpoints, Prefix: r.Prefix, Username: r.Username, Password: r.Password, TTL: r.TTL}
	var err error
	if c.TLS, err = r.Security.tls(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.TTL)*time.Second)
	defer cancel()
	return etcd.GiveUp(ctx, c, r.Token)
}
