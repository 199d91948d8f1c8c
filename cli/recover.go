package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/transport"
)

// recovery is the command that makes the survivor of a lost quorum the only member.
type recovery struct {
	access
	data      string
	survivor  string
	timeout   time.Duration
	yes, json bool
}

// recoveryObject is the outcome of a recovery as JSON.
type recoveryObject struct {
	Data     string         `json:"data"`
	Cluster  string         `json:"cluster,omitempty"`
	Node     string         `json:"node,omitempty"`
	Survivor *memberObject  `json:"survivor"`
	Removed  []memberObject `json:"removed"`
	Epoch    algo.Epoch     `json:"epoch"`
	Written  bool           `json:"written"`
	Reason   string         `json:"reason,omitempty"`
}

type memberObject struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Addr     string `json:"addr"`
	Eligible bool   `json:"eligible"`
}

func (p *program) newRecover() *cobra.Command {
	r := recovery{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Go on without a majority that is lost for good",
		Long: `Make one survivor the only member of a cluster that has lost a quorum for good, so that
no leader can be elected and no member removed. It works on the data directory of a node
that does not run. Name the node of this folder, by name or id, as the survivor. It
becomes the only member, and leads alone. All other nodes join it with empty data
directories, other survivors too. If several survive, take one with the newest config.

An algorithm without a quorum (bully or ring with --lease=off) needs no recovery: its
members are those of the list in the settings.

The other members are removed for good: a member that comes back with its old folder
learns of its removal, and stops.

This overrides the quorum, so be sure that no removed member still runs. The command
dials all of them, from this machine, and stops if one answers. It cannot detect a node
that this machine cannot reach. Decisions of the cluster that have not reached the
survivor are lost. Epochs never go back: they continue far above all that the survivor
has seen. The command explains this, and asks for confirmation, before it writes.

If the survivor is the only member already it writes nothing, and succeeds.

With --json, one object: data, cluster, node (the id of the node of this folder),
survivor (an object: id, name, addr, eligible; null if there was none), removed (a list
of such objects), epoch (the first new one; 0 if nothing was written), written (true or
false), reason (why not). The explanation is then written to standard error.`,
		Example: `  elect recover --data-dir /var/lib/elect --survivor d
  elect recover --data-dir /var/lib/elect --survivor d --yes --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&r.data, "data-dir", "", "data `folder` of the survivor; its node must not run")
	set.StringVar(&r.survivor, "survivor", "", "`name` or id of the node of this folder")
	set.DurationVar(&r.timeout, "timeout", 2*time.Second, "how long to wait for an answer of a removed member")
	set.BoolVar(&r.yes, "yes", false, "do not ask")
	set.BoolVar(&r.json, "json", false, "print one JSON object")
	r.access.register(set)
	return cmd
}

func (r *recovery) run(cmd *cobra.Command) error {
	switch {
	case r.data == "":
		return usagef("--data-dir is missing, want the data directory of a node")
	case r.survivor == "":
		return usagef("--survivor is missing, want the name or id of the node of this folder")
	case r.timeout <= 0:
		return usagef("--timeout is %v, want more than 0", r.timeout)
	}
	out := cmd.OutOrStdout()
	if r.json {
		out = cmd.ErrOrStderr()
	}
	confirmed := false
	done, err := cluster.Recover(r.data, r.survivor, func(plan cluster.Recovery) error {
		if !r.yes && !isTerminal(cmd.InOrStdin()) {
			return usagef("--yes is missing: standard input is no terminal on which to ask")
		}
		if err := r.requireUnreachable(cmd.Context(), plan.Removed); err != nil {
			return err
		}
		explainRecovery(out, plan)
		confirmed = r.yes || askConfirmation(out, cmd.InOrStdin())
		if !confirmed {
			return errors.New("not confirmed: nothing was written")
		}
		return nil
	})
	written := confirmed && err == nil
	if r.json {
		o := recoveryObject{
			Data: r.data, Cluster: done.Cluster, Removed: membersOf(done.Removed), Written: written,
		}
		if !done.Survivor.ID.IsZero() {
			o.Survivor = &membersOf([]algo.Member{done.Survivor})[0]
		}
		if written {
			o.Epoch = done.Epoch
		}
		if !done.Self.IsZero() {
			o.Node = done.Self.String()
		}
		if err != nil {
			o.Reason = err.Error()
		}
		if printed := json.NewEncoder(cmd.OutOrStdout()).Encode(o); printed != nil {
			return printed
		}
	}
	switch {
	case err != nil:
		return err
	case written:
		fmt.Fprintln(out, "\nWritten. It can be started.")
	default:
		fmt.Fprintln(out, "It is the only member already: nothing was written.")
	}
	return nil
}

// explainRecovery prints the plan, and what may be lost.
func explainRecovery(out io.Writer, plan cluster.Recovery) {
	table, row := rows(out)
	names := func(members []algo.Member) string {
		var all []string
		for _, m := range members {
			all = append(all, m.Name+" ("+m.Addr+")")
		}
		return strings.Join(all, ", ")
	}
	row("cluster", "%s", plan.Cluster)
	row("member", "%s", names([]algo.Member{plan.Survivor}))
	row("removed", "%s", names(plan.Removed))
	row("epoch", "continues at %d", plan.Epoch)
	_ = table.Flush()
	fmt.Fprint(out, `
No removed member answers this machine. What may be lost:
- A removed member that still runs, where this machine cannot reach it, may lead next
  to the survivor until it learns of the recovery. A resource that checks epochs as
  fencing tokens rejects such a leader once it has seen a new epoch.
- Decisions of the cluster that have not reached the survivor are forgotten: which
  nodes joined or were removed.
- A removed member can come back only with an empty data directory, as a new member.
- The survivor will be alone: if it dies too, there is no leader until it is back.
`)
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// askConfirmation asks on a terminal.
func askConfirmation(out io.Writer, in io.Reader) bool {
	fmt.Fprint(out, "\nType yes to write this: ")
	line, _ := bufio.NewReader(in).ReadString('\n')
	return strings.TrimSpace(line) == "yes"
}

// requireUnreachable dials all members concurrently, and returns an error that names those that may still run.
func (r *recovery) requireUnreachable(ctx context.Context, members []algo.Member) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no answer within %v", r.timeout))
	defer cancel()
	found := make([]error, len(members))
	var dials sync.WaitGroup
	for i, m := range members {
		dials.Go(func() { found[i] = reach(ctx, client, m) })
	}
	dials.Wait()
	return errors.Join(found...)
}

// reach returns nil if no process, or another one than m, answers at the address of m. A process that accepts
// connections and sends nothing may be m, suspended: it counts as running.
func reach(ctx context.Context, c client.Client, m algo.Member) error {
	var connected atomic.Bool
	c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		connected.Store(err == nil)
		return conn, err
	}
	s, err := c.Status(ctx, m.Addr)
	switch {
	case err == nil && s.Node == m.ID:
		return fmt.Errorf("%s runs, at %s: a node that can be reached is not lost; stop it first", m.Name, m.Addr)
	case err == nil, !connected.Load(), errors.Is(err, client.ErrNotNode) && transport.Cause(err) != transport.ClosedBeforeHello:
		return nil
	}
	return fmt.Errorf("at %s, the address of %s, a process accepts connections and does not identify itself (%s): stop it first",
		m.Addr, m.Name, strings.TrimPrefix(err.Error(), "client: "+m.Addr+": "))
}

func membersOf(members []algo.Member) []memberObject {
	all := []memberObject{}
	for _, m := range members {
		all = append(all, memberObject{ID: m.ID.String(), Name: m.Name, Addr: m.Addr, Eligible: m.Eligible})
	}
	return all
}
