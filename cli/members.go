package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/client"
)

// adminCommand holds the flags of all commands that send an admin request to a running node.
type adminCommand struct {
	access
	addr    string
	timeout time.Duration
	json    bool
}

// adminResult is the outcome of an admin request as JSON.
type adminResult struct {
	Action string `json:"action"`
	Addr   string `json:"addr"`
	Member string `json:"member,omitempty"`
	Done   bool   `json:"done"`
	Reason string `json:"reason,omitempty"`
}

const adminJSON = `ADDR is host:port of the node. --addr sets it too.

With --json, one object: action, addr, member (of remove), done (true or false) and
reason: why the node rejected the request, what it waited for, where the change is not
known yet, or why no reply came. The exit status is 1 if the request was not done.

` + accessText + ` A cluster on
the loopback that has neither accepts admin requests of the same user only. A node with no_admin in its configuration
rejects all admin requests.`

func (c *adminCommand) register(cmd *cobra.Command, which string) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&c.addr, "addr", "", "`host:port` of "+which+", if it is not the last argument")
	set.DurationVar(&c.timeout, "timeout", 10*time.Second, "how long to wait until it is done")
	set.BoolVar(&c.json, "json", false, "print one JSON object")
	c.access.register(set)
}

// exactArgs requires n arguments. The address of the node may follow them.
func (c *adminCommand) exactArgs(n int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n+1 && c.addr == "" {
			c.addr, args = args[n], args[:n]
		}
		if n == 0 && (len(args) > 0 || c.addr == "") {
			return usagef("%swants one address, host:port, and got %d", commandOf(cmd), len(args)+min(len(c.addr), 1))
		}
		return exactly(n, want)(cmd, args)
	}
}

// execute sends the admin request to the node and prints the outcome.
func (c *adminCommand) execute(cmd *cobra.Command, result adminResult, success string, send func(ctx context.Context, to client.Client) error) error {
	if c.timeout <= 0 {
		return usagef("--timeout is %v, want more than 0", c.timeout)
	}
	if c.addr == "" {
		return usagef("--addr is missing, want the address of a node, host:port")
	}
	if err := checkAddress("the address", c.addr); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), c.timeout, fmt.Errorf("not done within %v", c.timeout))
	defer cancel()
	to, err := c.client()
	if err != nil {
		return err
	}
	err = send(ctx, to)
	if err != nil {
		result.Reason = shortError(c.addr, err)
	}
	if here, ok := errors.AsType[*client.PartiallyAppliedError](err); ok {
		result.Reason, err = here.Reason, nil
		success += ": " + here.Reason
	}
	if c.json {
		result.Addr, result.Done = c.addr, err == nil
		if printed := json.NewEncoder(cmd.OutOrStdout()).Encode(result); printed != nil {
			return printed
		}
	} else if err == nil {
		fmt.Fprintln(cmd.OutOrStdout(), success)
	}
	if err != nil {
		return fmt.Errorf("%s", result.Reason)
	}
	return nil
}

// shortError shortens the error of a client: no package name, and the address once.
func shortError(addr string, err error) string {
	failed, network := errors.AsType[*net.OpError](err)
	unanswered, isAdmin := errors.AsType[*client.NoReplyError](err)
	switch {
	case network && isAdmin:
		return addr + ": " + (&client.NoReplyError{Sent: unanswered.Sent, Err: failed.Err}).Error()
	case network:
		return addr + ": " + failed.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "client: ")
}

func (p *program) newRemove() *cobra.Command {
	c := adminCommand{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "remove MEMBER ADDR",
		Short: "Remove a member for good, dead or alive",
		Long: `Remove the member with that name or id from its cluster, through any node. A dead
member stays one, and counts for a majority, until it is removed. A live member stops as
soon as it learns of its removal; a member that comes back later stops then. Its data
directory is of no more use: after it is emptied, the node joins as a new member.

This needs a quorum: the lease, which is on by default, or vote. Otherwise change the list
members on each node instead.

The leader removes one member at a time, when a majority of the members are there: of
two members one of which is dead none can be removed. Start the dead one again, also on
another machine with its data directory. If that is lost, see elect recover.

` + adminJSON,
		Example: `  elect remove n3 10.0.0.1:7400
  elect remove 6f1c5a4e-8d0b-4d8e-9a7e-3c2b1a0f9e8d --addr 10.0.0.1:7400 --timeout 1m`,
		Args: c.exactArgs(1, "the name or the id of one member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.execute(cmd, adminResult{Action: "remove", Member: args[0]}, args[0]+" is no member any more",
				func(ctx context.Context, to client.Client) error { return to.Remove(ctx, c.addr, args[0]) })
		},
	}
	c.register(cmd, "any member of the cluster")
	return cmd
}

func (p *program) newLeave() *cobra.Command {
	c := adminCommand{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "leave ADDR",
		Short: "Make a node leave its cluster for good",
		Long: `The node at ADDR ends its membership and stops. If it leads, another member is elected
first. To stop a node for a while, send it SIGTERM instead: it says goodbye, stays a
member, and counts for the quorum.

This needs a quorum: the lease, which is on by default, or vote. Otherwise remove the address
of the node from the list members on the other nodes, and stop the node.

` + adminJSON,
		Example: `  elect leave 10.0.0.3:7400`,
		Args:    c.exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.execute(cmd, adminResult{Action: "leave"}, "the node at "+c.addr+" has left",
				func(ctx context.Context, to client.Client) error { return to.Leave(ctx, c.addr) })
		},
	}
	c.register(cmd, "the node that is to leave")
	return cmd
}

func (p *program) newPriority() *cobra.Command {
	c := adminCommand{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "priority NUMBER ADDR",
		Short: "Change the priority of a running node",
		Long: `Change the priority of the node at ADDR. With bully and ring the highest node leads, so
another node may be elected. With vote, priorities decide only between equal claims in the
next election. Negative numbers follow a --, as in the example.

The change lasts until the node is restarted, or reads another priority from its
configuration at SIGHUP. To change it for good, write it there and send SIGHUP.

` + adminJSON,
		Example: `  elect priority 10 10.0.0.2:7400
  elect priority --addr 10.0.0.2:7400 -- -1`,
		Args: c.exactArgs(1, "one number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil {
				return usagef("the priority is %q, want a whole number of 32 bits", args[0])
			}
			return c.execute(cmd, adminResult{Action: "priority"}, fmt.Sprintf("the node at %s has priority %d", c.addr, n),
				func(ctx context.Context, to client.Client) error { return to.SetPriority(ctx, c.addr, int(n)) })
		},
	}
	c.register(cmd, "the node")
	return cmd
}

func (p *program) newResign() *cobra.Command {
	c := adminCommand{access: access{table: p.fields}}
	var period time.Duration
	cmd := &cobra.Command{
		Use:   "resign ADDR",
		Short: "Make a node resign from leadership for a while",
		Long: `The node at ADDR does not lead for a while. If it leads now, another member is elected.
The node stays a member and votes. A restart of the node ends this earlier. The request is
rejected if no other member may lead. To exclude a member for good, make it a witness.

` + adminJSON,
		Example: `  elect resign 10.0.0.1:7400
  elect resign --for 10m 10.0.0.1:7400     before work on that machine`,
		Args: c.exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if period < 0 || period > 24*time.Hour {
				return usagef("--for is %v, want from 0 to 24h", period)
			}
			return c.execute(cmd, adminResult{Action: "resign"}, "the node at "+c.addr+" has resigned",
				func(ctx context.Context, to client.Client) error { return to.Resign(ctx, c.addr, period) })
		},
	}
	cmd.Flags().DurationVar(&period, "for", 0, "how long it may not lead, at most 24h (default as long as an election may take)")
	c.register(cmd, "the node")
	return cmd
}
