package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/fence"
)

// A leader writes with its token. After the next leader has written, the gate rejects the first token.
func ExampleGate_Write() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	gate := fence.NewMemory()
	_ = node.Lead(ctx, func(ctx context.Context, l cluster.Leadership) error {
		token := fence.Token{Cluster: l.Cluster, Number: l.Token}
		write := func(t fence.Token, line string) {
			err := gate.Write(ctx, t, func() error { fmt.Println(line); return nil })
			var refused *fence.RejectedError
			if errors.As(err, &refused) {
				fmt.Println("refused:", refused.Reason, "with", refused.Highest.Number)
			}
		}
		write(token, "one line")
		write(fence.Token{Cluster: l.Cluster, Number: l.Token + 1}, "a line of the next leader")
		write(token, "a line that comes too late")
		return nil
	})
	stop()
	fmt.Println(<-stopped)
	// Output:
	// one line
	// a line of the next leader
	// refused: a newer leader has written with 2
	// <nil>
}

// The database has both the token and the write, or neither. The reaction to an error depends on
// its reason.
func ExampleTable_Write() {
	next := func(err error) string {
		switch {
		case err == nil:
			return "continue"
		case errors.Is(err, fence.ErrStale):
			return "stop the work: another leads, or has"
		case errors.Is(err, fence.ErrOtherCluster):
			return "ask an operator: was the cluster bootstrapped again?"
		case errors.Is(err, fence.ErrNoToken), errors.Is(err, fence.ErrDamaged), errors.Is(err, sql.ErrNoRows):
			return "ask an operator: the service is set up wrongly"
		}
		return "try again"
	}
	adopt := func(ctx context.Context, table *fence.Table, next fence.Token) error { // an operator's command
		held, err := table.Highest(ctx)
		if err != nil {
			return err
		}
		return table.Adopt(ctx, held, next)
	}
	work := func(db *sql.DB) func(context.Context, cluster.Leadership) error { // for Lead
		table := fence.Table{DB: db, Resource: "invoices", NumberedArgs: true}
		return func(ctx context.Context, l cluster.Leadership) error {
			return table.Write(ctx, fence.Token{Cluster: l.Cluster, Number: l.Token}, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "UPDATE invoices SET sent = true WHERE NOT sent")
				return err
			})
		}
	}
	_, _ = adopt, work
	fmt.Println(next(&fence.RejectedError{Reason: fence.ErrStale}))
	// Output:
	// stop the work: another leads, or has
}

// An operator lets the gate adopt a cluster that was bootstrapped again. A Table has the same methods.
func ExampleGate_Adopt() {
	ctx := context.Background()
	lost, next := fence.Token{Cluster: [16]byte{1}, Number: 4711}, fence.Token{Cluster: [16]byte{2}, Number: 1}
	gate := fence.NewMemory()
	_ = gate.Write(ctx, lost, func() error { return nil })

	err := gate.Write(ctx, next, func() error { return nil })
	fmt.Println(errors.Is(err, fence.ErrOtherCluster))
	from, err := gate.Highest(ctx)
	fmt.Println(from.Number, err)
	fmt.Println(gate.Adopt(ctx, from, fence.Token{Cluster: next.Cluster}))
	fmt.Println(gate.Write(ctx, next, func() error { return nil }))
	fmt.Println(errors.Is(gate.Adopt(ctx, from, fence.Token{Cluster: next.Cluster}), fence.ErrAdoptMismatch)) // a second time
	// Output:
	// true
	// 4711 <nil>
	// <nil>
	// <nil>
	// true
}

// Several processes of one machine that write to one place share a file.
func ExampleOpen() {
	ctx := context.Background()
	gate, err := fence.Open(ctx, "/var/lib/invoices/gate")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gate.Highest(ctx))
}
