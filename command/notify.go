package command

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/elect-go/elect/cluster"
)

// notifyService tells systemd how a service of Type=notify stands, until ctx ends: that it is ready as soon as the node
// runs, which node leads, and, with WatchdogSec, that the loop of the node answers. Elsewhere it does nothing. The
// result tells systemd that the node stops, unless the end of ctx has. It returns when that is sent: the process may end
// then.
func notifyService(ctx context.Context, n *cluster.Node) (stop func()) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return func() {}
	}
	stop = sync.OnceFunc(func() { notify(daemon.SdNotifyStopping) })
	context.AfterFunc(ctx, stop)
	go func() {
		if _, err := n.Status(ctx); err != nil {
			return // it has not begun
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

// notify drops what systemd does not take: the node is worth more than its status.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

// watchLoop reports at each interval that the loop of the node has answered. If it does not, systemd ends the process.
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

// serviceStatus is what systemctl status shows of a node.
func serviceStatus(s cluster.State) string {
	switch {
	case s.IsLeader:
		return fmt.Sprintf("leads in epoch %d", s.Leader.Epoch)
	case s.HasLeader():
		return fmt.Sprintf("follows %s in epoch %d", s.Leader.Name, s.Leader.Epoch)
	}
	return "no leader is known"
}
