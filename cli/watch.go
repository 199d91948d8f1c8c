package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/internal/confload"
)

func (p *program) newWatch() *cobra.Command {
	o := watchOrder{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "watch [ADDR…]",
		Short: "Follow the leadership of a cluster from outside",
		Long: `Print the leader of a cluster now, and after each change, until a signal ends the command. The
watcher is no member. It watches one member, learns the addresses of the others from it, and moves
to another member when that one fails. Without ADDR, the members are those of the configuration on
this machine (--config, or ELECT_CONFIG). Behind a proxy that hides the members, ADDR is that proxy.

A member takes 512 watchers. They do not delay its elections. A watcher of a member that fails
silently learns of that after 4 to 8 s.

With --exec, a shell (sh -c) runs CMD for the first leadership and after each change, one at a time.
While CMD runs, further changes are skipped except the last. CMD finds in its environment
ELECT_WATCH_LEADER (the name, empty if no leader is known), ELECT_WATCH_LEADER_ID,
ELECT_WATCH_LEADER_ADDR, ELECT_WATCH_EPOCH and ELECT_WATCH_ERROR (why the watcher is cut off, empty
if it is not), and on its standard input the object that --json prints. Its failure is printed, and
does not end the command.

With --json, an object on each line: time, leader (an id, null if none is known), leader_name,
leader_addr, leader_meta (an object; these three are absent if no leader is known), epoch, source (the
address of the member that said so), error (why the watcher is cut off: leader and epoch are then the
last known ones; absent otherwise).

` + accessText,
		Example: `  elect watch 10.0.0.1:7400
  elect watch --config /etc/elect.yaml --json
  elect watch 10.0.0.1:7400 --exec 'echo "$ELECT_WATCH_LEADER_ADDR" > /run/leader'`,
		Args: o.parse,
		RunE: o.run,
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object per change")
	cmd.Flags().StringVar(&o.exec, "exec", "", "run `CMD` with a shell after each change")
	o.access.register(cmd.Flags())
	return cmd
}

// watchOrder watches a cluster.
type watchOrder struct {
	access
	addrs []string
	json  bool
	exec  string
}

// parse takes the addresses of the command line, or those of the configuration.
func (o *watchOrder) parse(cmd *cobra.Command, args []string) (err error) {
	o.addrs, err = o.addresses(cmd.Name(), args, func(s *confload.Settings) []string {
		return slices.Concat(s.Members, s.Join)
	})
	return err
}

func (o *watchOrder) run(cmd *cobra.Command, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	for s := range client.Watch(ctx, client.Config{Client: c, Addrs: o.addrs}) {
		change := newLeadershipObject(time.Now(), s)
		if err := o.print(cmd.OutOrStdout(), change); err != nil {
			return err
		}
		if o.exec == "" {
			continue
		}
		if err := o.execute(ctx, cmd, change); err != nil && ctx.Err() == nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "elect: --exec: %v\n", err)
		}
	}
	return nil
}

// leadershipObject is what --json prints of a change.
type leadershipObject struct {
	Time       time.Time         `json:"time"`
	Leader     *algo.NodeID      `json:"leader"`
	LeaderName string            `json:"leader_name,omitempty"`
	LeaderAddr string            `json:"leader_addr,omitempty"`
	LeaderMeta map[string]string `json:"leader_meta,omitempty"`
	Epoch      algo.Epoch        `json:"epoch"`
	Source     string            `json:"source"`
	Error      string            `json:"error,omitempty"`
}

func newLeadershipObject(now time.Time, s client.State) leadershipObject {
	o := leadershipObject{Time: now, Epoch: s.Epoch, Source: s.Addr}
	if l := s.Leader; s.HasLeader() {
		o.Leader, o.LeaderName, o.LeaderAddr, o.LeaderMeta = &l.ID, l.Name, l.Addr, l.Meta
	}
	if s.Err != nil {
		o.Error = strings.ReplaceAll(strings.TrimPrefix(s.Err.Error(), "client: "), "\nclient: ", "; ")
	}
	return o
}

// String describes the change for people.
func (o leadershipObject) String() string {
	text := "no leader is known"
	switch {
	case o.Leader != nil && o.Error != "":
		text = fmt.Sprintf("%s led in epoch %d", o.LeaderName, o.Epoch)
	case o.Leader != nil:
		text = fmt.Sprintf("%s leads in epoch %d at %s", o.LeaderName, o.Epoch, o.LeaderAddr)
	}
	if o.Error != "" {
		text = "cut off: " + o.Error + "; " + text
	}
	return o.Time.Format("15:04:05.000  ") + text
}

func (o *watchOrder) print(w io.Writer, change leadershipObject) error {
	if o.json {
		return json.NewEncoder(w).Encode(change)
	}
	_, err := fmt.Fprintln(w, change)
	return err
}

// execute runs CMD for a change. If ctx ends, CMD is killed.
func (o *watchOrder) execute(ctx context.Context, cmd *cobra.Command, change leadershipObject) error {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	object, err := json.Marshal(change)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, shell[0], shell[1], o.exec)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(string(object)+"\n"), cmd.OutOrStdout(), cmd.ErrOrStderr()
	id := ""
	if change.Leader != nil {
		id = change.Leader.String()
	}
	c.Env = append(os.Environ(),
		confload.WatchPrefix+"LEADER="+change.LeaderName,
		confload.WatchPrefix+"LEADER_ID="+id,
		confload.WatchPrefix+"LEADER_ADDR="+change.LeaderAddr,
		confload.WatchPrefix+"EPOCH="+strconv.FormatUint(uint64(change.Epoch), 10),
		confload.WatchPrefix+"ERROR="+change.Error,
	)
	return c.Run()
}
