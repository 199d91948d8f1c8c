package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/bench/compare/member"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/internal/proccluster"
)

// The hidden subcommands that make this program a measured process. Each runs until its standard input ends, except
// work, which runs until a signal.
const (
	memberCommand    = "member"      // of the cluster of a library
	contenderCommand = "contender"   // an application that works while it leads
	serverCommand    = "etcd-server" // of the etcd of contenders
	workCommand      = "work"        // the command of elect run
)

// hidden are the measured processes by their subcommand.
var hidden = map[string]func(args []string) error{
	memberCommand:    func(args []string) error { return member.Run(context.Background(), args, os.Stdin, os.Stdout) },
	contenderCommand: func(args []string) error { return runContender(args, os.Stdin, os.Stdout) },
	serverCommand:    func(args []string) error { return runServer(args, os.Stdin) },
	workCommand:      func([]string) error { return runWork(os.Stdout) },
}

// runHidden runs this process as a measured one if its first argument is a hidden subcommand. Then it does not return.
func runHidden() {
	if len(os.Args) < 2 || hidden[os.Args[1]] == nil {
		return
	}
	if err := hidden[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(statusFailed)
	}
	os.Exit(0)
}

// works begins the line with which work reports that it runs, and since when.
const works = "works "

func reportWork(out io.Writer) error {
	_, err := fmt.Fprintln(out, works, proccluster.Now())
	return err
}

// runWork is the work as a process of its own.
func runWork(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := reportWork(out); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// whileOpen returns a context that ends when in ends, because then the parent is gone.
func whileOpen(in io.Reader) context.Context {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx
}

// leases are the leases of the contenders of elect, by the names of the systems.
var leases = map[string]func() lease.Options{
	"elect":       func() lease.Options { return lease.Off },
	"elect-lease": func() lease.Options { return lease.Defaults(algo.LAN()) },
	"elect-evidence": func() lease.Options {
		o := lease.Defaults(algo.LAN())
		o.TrustEvidence, o.TrustedNetwork = true, true
		return o
	},
}

// runContender works while this process leads.
func runContender(args []string, in io.Reader, out io.Writer) error {
	var c cluster.Config
	var members, endpoints, system string
	flags := flag.NewFlagSet(contenderCommand, flag.ContinueOnError)
	flags.StringVar(&system, "system", "", "")
	flags.StringVar(&c.Name, "name", "", "")
	flags.StringVar(&c.Listen, "listen", "", "")
	flags.StringVar(&c.DataDir, "data-dir", "", "")
	flags.StringVar(&members, "members", "", "")
	flags.StringVar(&endpoints, "endpoints", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx := whileOpen(in)
	if system == etcdElection {
		return contend(ctx, strings.Split(endpoints, ","), c.Name, out)
	}
	if leases[system] == nil {
		return fmt.Errorf("contender: the system is %q", system)
	}
	c.Members, c.Lease = strings.Split(members, ","), leases[system]()
	if c.Lease.IsOff() {
		c.DataDir = "" // as an application without a lease has it
	}
	n, err := cluster.New(c)
	if err != nil {
		return err
	}
	return elector.Run(ctx, n.Elector(), func(ctx context.Context, _ elector.Leadership) error {
		if err := reportWork(out); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
}

// contend takes part in the election of etcd's client, as its documentation shows it.
func contend(ctx context.Context, endpoints []string, name string, out io.Writer) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := concurrency.NewSession(client, concurrency.WithTTL(shortestTTL), concurrency.WithContext(ctx))
	if err != nil {
		return err
	}
	defer session.Close()
	if err := concurrency.NewElection(session, electionPrefix).Campaign(ctx, name); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := reportWork(out); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-session.Done():
		return errors.New("contender: the session has ended")
	}
}

// runServer runs a server of etcd with its defaults.
func runServer(args []string, in io.Reader) error {
	c := embed.NewConfig()
	var client, peer string
	flags := flag.NewFlagSet(serverCommand, flag.ContinueOnError)
	flags.StringVar(&c.Name, "name", "", "")
	flags.StringVar(&c.Dir, "data-dir", "", "")
	flags.StringVar(&client, "listen", "", "")
	flags.StringVar(&peer, "peer", "", "")
	flags.StringVar(&c.InitialCluster, "members", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c.ListenClientUrls, c.ListenPeerUrls = []url.URL{{Scheme: "http", Host: client}}, []url.URL{{Scheme: "http", Host: peer}}
	c.AdvertiseClientUrls, c.AdvertisePeerUrls = c.ListenClientUrls, c.ListenPeerUrls
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer server.Close()
	<-whileOpen(in).Done()
	return nil
}
