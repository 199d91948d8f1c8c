package fence

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/elect-go/elect/algo"
)

// Table is a gate in a database: a row for the resource. The row is created together with the
// resource and never again, because a new row accepts any token.
//
//	CREATE TABLE fence (
//		resource VARCHAR(255) PRIMARY KEY, cluster VARCHAR(36) NOT NULL, token BIGINT NOT NULL, writes BIGINT NOT NULL
//	);
//	INSERT INTO fence VALUES ('invoices', '00000000-0000-0000-0000-000000000000', 0, 0);
//
// Its methods may be called at the same time, by any number of processes.
type Table struct {
	DB           *sql.DB
	Resource     string // name of the row
	NumberedArgs bool   // arguments are $1 and $2, as in PostgreSQL, and not ?, as in SQLite and MySQL
}

// To admit is one statement, which no other transaction passes before the end of this one. It
// changes its row also where the token stays: databases differ in what they count as a change.
const (
	admit = `UPDATE fence SET cluster = ?, token = ?, writes = writes + 1 ` +
		`WHERE resource = ? AND (cluster = ? OR cluster = ? AND token BETWEEN 0 AND ?)`
	adopt = `UPDATE fence SET cluster = ?, token = ?, writes = writes + 1 ` +
		`WHERE resource = ? AND cluster = ? AND token = ?`
	look = `SELECT cluster, token FROM fence WHERE resource = ?`
)

// Write accepts the leader with token t: it calls write with a transaction in which the token is remembered, and
// commits the transaction. So the token counts if the write is there. If write returns an error, Write returns it, and
// the token does not count.
//
// Other errors are a *RejectedError, ErrNoToken, ErrDamaged, sql.ErrNoRows if the resource has no row, and errors of
// the database. After an error of the commit the write may be there.
func (g *Table) Write(ctx context.Context, t Token, write func(tx *sql.Tx) error) error {
	if err := (Token{}).admit(t); err != nil {
		return err
	}
	tx, err := g.DB.BeginTx(ctx, nil)
	if err != nil {
		return explain(g.Resource, err)
	}
	defer tx.Rollback() // unless it was committed
	id, number := t.Cluster.String(), int64(t.Number)
	err = g.change(ctx, tx, func(held Token) error { return held.admit(t) }, admit, id, number, g.Resource, algo.NodeID{}.String(), id, number)
	if err != nil {
		return err
	}
	if err := write(tx); err != nil {
		return err
	}
	return explain(g.Resource, tx.Commit())
}

// Highest returns the highest accepted token; zero if there is none.
func (g *Table) Highest(ctx context.Context) (Token, error) { return g.readHighest(ctx, g.DB) }

// Adopt is as [Gate.Adopt].
func (g *Table) Adopt(ctx context.Context, from, to Token) error {
	if err := from.adopt(from, to); err != nil {
		return err
	}
	return g.change(ctx, g.DB, func(held Token) error { return held.adopt(from, to) },
		adopt, to.Cluster.String(), int64(to.Number), g.Resource, from.Cluster.String(), int64(from.Number))
}

// querier is a database, or a transaction of it.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// change runs a statement that is to change the row. If it does not, why says why.
func (g *Table) change(ctx context.Context, in querier, why func(held Token) error, statement string, args ...any) error {
	result, err := in.ExecContext(ctx, g.dialect(statement), args...)
	if err != nil {
		return explain(g.Resource, err)
	}
	changed, err := result.RowsAffected()
	if err != nil || changed == 1 {
		return explain(g.Resource, err)
	}
	held, err := g.readHighest(ctx, in)
	if err == nil {
		err = why(held)
	}
	if err == nil {
		err = explain(g.Resource, fmt.Errorf("%w: %d rows change, where one is to", ErrDamaged, changed))
	}
	return err
}

func (g *Table) readHighest(ctx context.Context, in querier) (t Token, err error) {
	var cluster string
	var number int64
	err = in.QueryRowContext(ctx, g.dialect(look), g.Resource).Scan(&cluster, &number)
	if err == nil && (t.Cluster.UnmarshalText([]byte(cluster)) != nil || number < 0) {
		err = fmt.Errorf("%w: token %d of cluster %q", ErrDamaged, number, cluster)
	}
	t.Number = uint64(number)
	return t, explain(g.Resource, err)
}

// dialect is a statement with its arguments as the database calls them.
func (g *Table) dialect(statement string) string {
	for i := 1; g.NumberedArgs && strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", "$"+strconv.Itoa(i), 1)
	}
	return statement
}
