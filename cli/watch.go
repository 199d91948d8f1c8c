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
	"github.com/spf13/pflag"

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
	o.changeOutput.register(cmd.Flags())
	o.access.register(cmd.Flags())
	return cmd
}

// watchOrder watches a cluster.
type watchOrder struct {
	access
	changeOutput
	addrs []string
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
		if err := o.show(ctx, cmd, newLeadershipObject(time.Now(), s)); err != nil {
			return err
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

// variables returns the variables of CMD, without their prefix.
func (o leadershipObject) variables() []string {
	id := ""
	if o.Leader != nil {
		id = o.Leader.String()
	}
	return []string{"LEADER=" + o.LeaderName, "LEADER_ID=" + id, "LEADER_ADDR=" + o.LeaderAddr,
		"EPOCH=" + strconv.FormatUint(uint64(o.Epoch), 10), "ERROR=" + o.Error}
}

// change is a change of the leadership. It is an object as JSON.
type change interface {
	fmt.Stringer
	variables() []string
}

// changeOutput holds the flags that say what happens after a change.
type changeOutput struct {
	json bool
	exec string
}

func (o *changeOutput) register(set *pflag.FlagSet) {
	set.BoolVar(&o.json, "json", false, "print one JSON object per change")
	set.StringVar(&o.exec, "exec", "", "run `CMD` with a shell after each change")
}

// show prints a change, and runs CMD for it. The error is that of the output.
func (o *changeOutput) show(ctx context.Context, cmd *cobra.Command, c change) error {
	if err := o.print(cmd.OutOrStdout(), c); err != nil || o.exec == "" {
		return err
	}
	if err := o.execute(ctx, cmd, c); err != nil && ctx.Err() == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: --exec: %v\n", cmd.Root().Name(), err)
	}
	return nil
}

func (o *changeOutput) print(w io.Writer, c change) error {
	if o.json {
		return json.NewEncoder(w).Encode(c)
	}
	_, err := fmt.Fprintln(w, c)
	return err
}

// execute runs CMD for a change. If ctx ends, CMD is killed.
func (o *changeOutput) execute(ctx context.Context, cmd *cobra.Command, c change) error {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	object, err := json.Marshal(c)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, shell[0], shell[1], o.exec)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(string(object)+"\n"), cmd.OutOrStdout(), cmd.ErrOrStderr()
	command.Env = os.Environ()
	for _, variable := range c.variables() {
		command.Env = append(command.Env, confload.WatchPrefix+variable)
	}
	return command.Run()
}
