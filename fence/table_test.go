package fence

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// put returns a function that writes what, as a part of the transaction.
func put(what string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec("write", what)
		return err
	}
}

func TestTokenAndWriteAreOneTransaction(t *testing.T) {
	d := &database{}
	table, ctx := tableOf(t, d, false), context.Background()
	require.NoError(t, table.Write(ctx, nr(1), put("a")))
	failed := errors.New("it failed")
	want := func(what string) {
		t.Helper()
		held, err := table.Highest(ctx) // which waits for the end of the transaction
		require.NoError(t, err)
		require.Equal(t, nr(1), held, what)
		d.alone.Lock()
		defer d.alone.Unlock()
		require.Equal(t, []string{"a"}, d.written, what)
	}

	require.Equal(t, failed, table.Write(ctx, nr(2), func(tx *sql.Tx) error {
		return errors.Join(put("b")(tx), failed).(interface{ Unwrap() []error }).Unwrap()[0]
	}))
	want("the write failed")
	require.Panics(t, func() { _ = table.Write(ctx, nr(2), func(tx *sql.Tx) error { _ = put("b")(tx); panic(failed) }) })
	want("the write panicked")
	d.unsaved = failed
	require.ErrorIs(t, table.Write(ctx, nr(2), put("b")), failed)
	want("the commit failed")
	d.unsaved = nil
	require.ErrorIs(t, table.Write(ctx, Token{theirs, 2}, put("b")), ErrOtherCluster)
	want("another cluster's was refused")
	ended, end := context.WithCancelCause(ctx)
	require.Error(t, table.Write(ended, nr(2), func(tx *sql.Tx) error { end(failed); return put("b")(tx) }))
	want("the leadership ended before the commit")
}

// No other write runs between the check of the token and the end of the write.
func TestWriteLocksItsRow(t *testing.T) {
	d := &database{}
	table, ctx := tableOf(t, d, false), context.Background()
	second := make(chan error, 1)
	require.NoError(t, table.Write(ctx, nr(1), func(tx *sql.Tx) error {
		require.False(t, d.alone.TryLock())
		go func() { second <- table.Write(ctx, nr(2), put("b")) }()
		return put("a")(tx)
	}))
	require.NoError(t, <-second)
	require.Equal(t, []string{"a", "b"}, d.written)
	require.EqualValues(t, 2, d.rows["r"].writes)
}

func TestGateRejectsForeignTable(t *testing.T) {
	ctx := context.Background()
	for name, test := range map[string]struct {
		do   func(d *database)
		want error
		says string
	}{
		"no table":             {func(d *database) { d.rows = nil }, errNoTable, "fence: r: no such table"},
		"no row":               {func(d *database) { delete(d.rows, "r") }, sql.ErrNoRows, "fence: r: "},
		"two rows":             {func(d *database) { d.twice = true }, nil, "2 rows change"},
		"a token below 0":      {func(d *database) { d.rows["r"] = row{ours.String(), -1, 0} }, ErrDamaged, "token -1"},
		"no cluster":           {func(d *database) { d.rows["r"] = row{nil, 1, 0} }, nil, "fence: r: "},
		"no id":                {func(d *database) { d.rows["r"] = row{"prod", 1, 0} }, ErrDamaged, `cluster "prod"`},
		"an id in capitals":    {func(d *database) { d.rows["r"] = row{"0000000A-0000-0000-0000-000000000001", 1, 0} }, ErrOtherCluster, ""},
		"rows are not counted": {func(d *database) { d.counting = errors.ErrUnsupported }, errors.ErrUnsupported, "fence: r: "},
	} {
		t.Run(name, func(t *testing.T) {
			d := &database{}
			table := tableOf(t, d, false)
			test.do(d)
			before := d.rows["r"]
			err := table.Write(ctx, nr(5), func(*sql.Tx) error { return never(t)() })
			require.ErrorContains(t, err, test.says)
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
			}
			require.Equal(t, before, d.rows["r"])
		})
	}
}

func TestEachResourceHasItsOwnRow(t *testing.T) {
	d := &database{}
	table, ctx := tableOf(t, d, false), context.Background()
	d.rows["other"] = d.rows["r"]
	other := &Table{DB: table.DB, Resource: "other"}
	require.NoError(t, table.Write(ctx, nr(5), put("a")))
	require.NoError(t, other.Write(ctx, nr(1), put("b")))
	require.ErrorIs(t, table.Write(ctx, nr(4), put("c")), ErrStale)
}
