package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/elect-go/elect/cluster"
)

// notifyService notifies systemd, for a service of Type=notify, until ctx ends: ready when the node runs, the current
// leader, and, with WatchdogSec, that the loop of the node answers. Without systemd it does nothing. The returned
// function notifies systemd that the node stops, unless the end of ctx has done so. When it returns, the process may
// exit.
func notifyService(ctx context.Context, n *cluster.Node) (stop func()) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return func() {}
	}
	stop = sync.OnceFunc(func() { notify(daemon.SdNotifyStopping) })
	context.AfterFunc(ctx, stop)
	go func() {
		if _, err := n.Status(ctx); err != nil {
			return // the node did not start
		}
		notify(daemon.SdNotifyReady)
		if interval, err := daemon.SdWatchdogEnabled(false); err == nil && interval > 0 {
			go watchLoop(ctx, n, interval/2)
		}
		for s := range n.Watch(ctx) {
			notify("STATUS=" + serviceStatus(s))
		}
	}()
	return stop
}

// notify ignores errors: a node must not fail because of its notifications.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

// watchLoop notifies systemd at each interval if the loop of the node has answered. Otherwise systemd ends the process.
func watchLoop(ctx context.Context, n *cluster.Node, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		limit, cancel := context.WithTimeout(ctx, interval)
		if _, err := n.Status(limit); err == nil {
			notify(daemon.SdNotifyWatchdog)
		}
		cancel()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// serviceStatus returns the text that systemctl status shows.
func serviceStatus(s cluster.State) string {
	switch {
	case s.IsLeader:
		return fmt.Sprintf("leads in epoch %d", s.Leader.Epoch)
	case s.HasLeader():
		return fmt.Sprintf("follows %s in epoch %d", s.Leader.Name, s.Leader.Epoch)
	}
	return "no leader is known"
}
