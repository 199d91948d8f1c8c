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

// order holds the flags of all commands that send an admin request to a running node.
type order struct {
	access
	addr    string
	timeout time.Duration
	json    bool
}

// orderObject is the outcome of an admin request as JSON.
type orderObject struct {
	Order  string `json:"order"`
	Addr   string `json:"addr"`
	Member string `json:"member,omitempty"`
	Done   bool   `json:"done"`
	Reason string `json:"reason,omitempty"`
}

const orderJSON = `ADDR is host:port of the node; --addr says it as well.

With --json, one object: order, addr, member (of remove), done (true or false), reason
(in the words of the node: why it was rejected, or not done in time and may still happen;
or, with done true, that it holds there and is not known everywhere yet; or why no answer came, and
whether the request may have been carried out). The exit status is 1 if it was not done.

` + accessText + ` A cluster on
the loopback that has neither accepts admin requests of the same user only. A node with no_admin in its configuration
rejects all admin requests.`

func (o *order) register(cmd *cobra.Command, which string) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&o.addr, "addr", "", "`host:port` of "+which+", if it is not the last argument")
	set.DurationVar(&o.timeout, "timeout", 10*time.Second, "how long to wait until it is done")
	set.BoolVar(&o.json, "json", false, "print one JSON object")
	o.access.register(set)
}

// with requires n arguments. The address of the node may follow them.
func (o *order) with(n int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n+1 && o.addr == "" {
			o.addr, args = args[n], args[:n]
		}
		if n == 0 && (len(args) > 0 || o.addr == "") {
			return usagef("%swants one address, host:port, and got %d", commandOf(cmd), len(args)+min(len(o.addr), 1))
		}
		return exactly(n, want)(cmd, args)
	}
}

// give sends the order to the node and prints the outcome.
func (o *order) give(cmd *cobra.Command, what orderObject, did string, do func(ctx context.Context, to client.Client) error) error {
	if o.timeout <= 0 {
		return usagef("--timeout is %v, want more than 0", o.timeout)
	}
	if o.addr == "" {
		return usagef("--addr is missing, want the address of a node, host:port")
	}
	if err := checkAddress("the address", o.addr); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), o.timeout, fmt.Errorf("not done within %v", o.timeout))
	defer cancel()
	to, err := o.client()
	if err != nil {
		return err
	}
	err = do(ctx, to)
	if err != nil {
		what.Reason = brief(o.addr, err)
	}
	if here, ok := errors.AsType[*client.PartiallyAppliedError](err); ok {
		what.Reason, err = here.Reason, nil
		did += ": " + here.Reason
	}
	if o.json {
		what.Addr, what.Done = o.addr, err == nil
		if printed := json.NewEncoder(cmd.OutOrStdout()).Encode(what); printed != nil {
			return printed
		}
	} else if err == nil {
		fmt.Fprintln(cmd.OutOrStdout(), did)
	}
	if err != nil {
		return fmt.Errorf("%s", what.Reason)
	}
	return nil
}

// brief shortens the error of a client: no package name, and the address once.
func brief(addr string, err error) string {
	failed, network := errors.AsType[*net.OpError](err)
	unanswered, order := errors.AsType[*client.NoReplyError](err)
	switch {
	case network && order:
		return addr + ": " + (&client.NoReplyError{Sent: unanswered.Sent, Err: failed.Err}).Error()
	case network:
		return addr + ": " + failed.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "client: ")
}

func (p *program) newRemove() *cobra.Command {
	o := order{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "remove MEMBER ADDR",
		Short: "Remove a member for good, dead or alive",
		Long: `Remove the member with that name or id from its cluster, through any node. A dead
member stays one, and counts for a majority, until it is removed. A live member stops as
soon as it learns of its removal; a member that comes back later stops then. Its data
folder is of no more use: after it is emptied, the node joins as a new member.

This needs a quorum: the lease, which is on by default, or vote. Otherwise change the list
members on each node instead.

The leader removes one member at a time, when a majority of the members are there: of
two members one of which is dead none can be removed. Start the dead one again, also on
another machine with its data folder. If that is lost, see elect recover.

` + orderJSON,
		Example: `  elect remove n3 10.0.0.1:7400
  elect remove 6f1c5a4e-8d0b-4d8e-9a7e-3c2b1a0f9e8d --addr 10.0.0.1:7400 --timeout 1m`,
		Args: o.with(1, "the name or the id of one member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.give(cmd, orderObject{Order: "remove", Member: args[0]}, args[0]+" is no member any more",
				func(ctx context.Context, to client.Client) error { return to.Remove(ctx, o.addr, args[0]) })
		},
	}
	o.register(cmd, "any member of the cluster")
	return cmd
}

func (p *program) newLeave() *cobra.Command {
	o := order{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "leave ADDR",
		Short: "Make a node leave its cluster for good",
		Long: `The node at ADDR ends its membership and stops. If it leads, another member is elected
first. To stop a node for a while, send it SIGTERM instead: it says goodbye, stays a
member, and counts for the quorum.

This needs a quorum: the lease, which is on by default, or vote. Otherwise remove the address
of the node from the list members on the other nodes, and stop the node.

` + orderJSON,
		Example: `  elect leave 10.0.0.3:7400`,
		Args:    o.with(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.give(cmd, orderObject{Order: "leave"}, "the node at "+o.addr+" has left",
				func(ctx context.Context, to client.Client) error { return to.Leave(ctx, o.addr) })
		},
	}
	o.register(cmd, "the node that is to leave")
	return cmd
}

func (p *program) newPriority() *cobra.Command {
	o := order{access: access{table: p.fields}}
	cmd := &cobra.Command{
		Use:   "priority NUMBER ADDR",
		Short: "Change the priority of a running node",
		Long: `Change the priority of the node at ADDR. With bully and ring the highest node leads, so
another node may be elected. With vote, priorities decide only between equal claims in the
next election. Negative numbers follow a --, as in the example.

The change lasts until the node is restarted, or reads another priority from its
configuration at SIGHUP. To change it for good, write it there and send SIGHUP.

` + orderJSON,
		Example: `  elect priority 10 10.0.0.2:7400
  elect priority --addr 10.0.0.2:7400 -- -1`,
		Args: o.with(1, "one number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil {
				return usagef("the priority is %q, want a whole number of 32 bits", args[0])
			}
			return o.give(cmd, orderObject{Order: "priority"}, fmt.Sprintf("the node at %s has priority %d", o.addr, n),
				func(ctx context.Context, to client.Client) error { return to.SetPriority(ctx, o.addr, int(n)) })
		},
	}
	o.register(cmd, "the node")
	return cmd
}

func (p *program) newResign() *cobra.Command {
	o := order{access: access{table: p.fields}}
	var period time.Duration
	cmd := &cobra.Command{
		Use:   "resign ADDR",
		Short: "Make a node resign from leadership for a while",
		Long: `The node at ADDR does not lead for a while. If it leads now, another member is elected.
The node stays a member and votes. A restart of the node ends this earlier. The request is
rejected if no other member may lead. To exclude a member for good, make it a witness.

` + orderJSON,
		Example: `  elect resign 10.0.0.1:7400
  elect resign --for 10m 10.0.0.1:7400     before work on that machine`,
		Args: o.with(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if period < 0 || period > 24*time.Hour {
				return usagef("--for is %v, want from 0 to 24h", period)
			}
			return o.give(cmd, orderObject{Order: "resign"}, "the node at "+o.addr+" has resigned",
				func(ctx context.Context, to client.Client) error { return to.Resign(ctx, o.addr, period) })
		},
	}
	cmd.Flags().DurationVar(&period, "for", 0, "how long it may not lead, at most 24h (default as long as an election may take)")
	o.register(cmd, "the node")
	return cmd
}
