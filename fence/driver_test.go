package fence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/elect-go/elect/algo"
)

// database is a small database that knows only the exact statements of a Table. Package examples/ledger tests them in
// real databases. It runs one transaction at a time.
type database struct {
	alone    sync.Mutex
	rows     map[string]row // nil: the table is missing
	written  []string       // other writes of transactions
	twice    bool           // each row exists twice
	unsaved  error          // error of a commit
	counting error          // error of the count of changed rows
}

type row struct {
	cluster any
	token   int64
	writes  int64
}

// tableOf returns a table of d with a row for "r".
func tableOf(t testing.TB, d *database, dollar bool) *Table {
	db := sql.OpenDB(d)
	t.Cleanup(func() { db.Close() })
	d.rows = map[string]row{"r": {cluster: algo.NodeID{}.String()}}
	return &Table{DB: db, Resource: "r", NumberedArgs: dollar}
}

// alone returns a write that ignores its transaction.
func alone(write func() error) func(*sql.Tx) error { return func(*sql.Tx) error { return write() } }

func (d *database) Driver() driver.Driver                        { return nil }
func (d *database) Connect(context.Context) (driver.Conn, error) { return &connection{d: d}, nil }

// connection has at most one transaction, and holds the state from before the transaction.
type connection struct {
	d       *database
	in      bool
	rows    map[string]row
	written []string
}

func (c *connection) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c *connection) Close() error                        { return nil }

func (c *connection) Begin() (driver.Tx, error) {
	c.d.alone.Lock()
	c.in, c.rows, c.written = true, maps.Clone(c.d.rows), slices.Clone(c.d.written)
	return c, nil
}

func (c *connection) Commit() error {
	if c.d.unsaved != nil {
		return errors.Join(c.d.unsaved, c.Rollback())
	}
	c.in = false
	c.d.alone.Unlock()
	return nil
}

func (c *connection) Rollback() error {
	c.d.rows, c.d.written = c.rows, c.written
	c.in = false
	c.d.alone.Unlock()
	return nil
}

// enter waits until no other connection has a transaction.
func (c *connection) enter() (leave func()) {
	if c.in {
		return func() {}
	}
	c.d.alone.Lock()
	return c.d.alone.Unlock
}

var errNoTable = errors.New("no such table: fence")

func (c *connection) ExecContext(_ context.Context, query string, named []driver.NamedValue) (driver.Result, error) {
	defer c.enter()()
	var a []any
	for _, v := range named {
		a = append(a, v.Value)
		query = strings.Replace(query, fmt.Sprintf("$%d", v.Ordinal), "?", 1)
	}
	if query == "write" {
		c.d.written = append(c.d.written, a[0].(string))
		return result{1, nil}, nil
	}
	if c.d.rows == nil {
		return nil, errNoTable
	}
	switch query {
	case `UPDATE fence SET cluster = ?, token = ?, writes = writes + 1 ` +
		`WHERE resource = ? AND (cluster = ? OR cluster = ? AND token BETWEEN 0 AND ?)`:
		return c.update(a, func(r row) bool {
			return r.cluster == a[3] || r.cluster == a[4] && r.token >= 0 && r.token <= a[5].(int64)
		})
	case `UPDATE fence SET cluster = ?, token = ?, writes = writes + 1 WHERE resource = ? AND cluster = ? AND token = ?`:
		return c.update(a, func(r row) bool { return r.cluster == a[3] && r.token == a[4] })
	}
	return nil, fmt.Errorf("unknown: %s", query)
}

func (c *connection) update(a []any, where func(row) bool) (driver.Result, error) {
	name := a[2].(string)
	old, there := c.d.rows[name]
	if !there || !where(old) {
		return result{0, c.d.counting}, nil
	}
	c.d.rows[name] = row{a[0], a[1].(int64), old.writes + 1}
	if c.d.twice {
		return result{2, nil}, nil
	}
	return result{1, c.d.counting}, nil
}

func (c *connection) QueryContext(_ context.Context, query string, named []driver.NamedValue) (driver.Rows, error) {
	defer c.enter()()
	switch query = strings.Replace(query, "$1", "?", 1); {
	case c.d.rows == nil:
		return nil, errNoTable
	case query != `SELECT cluster, token FROM fence WHERE resource = ?`:
		return nil, fmt.Errorf("unknown: %s", query)
	}
	var found [][]driver.Value
	if r, ok := c.d.rows[named[0].Value.(string)]; ok {
		found = append(found, []driver.Value{r.cluster, r.token})
	}
	return &rows{found}, nil
}

type result struct {
	rows int64
	err  error
}

func (r result) LastInsertId() (int64, error) { return 0, nil }
func (r result) RowsAffected() (int64, error) { return r.rows, r.err }

type rows struct{ left [][]driver.Value }

func (r *rows) Columns() []string { return []string{"cluster", "token"} }
func (r *rows) Close() error      { return nil }
func (r *rows) Next(to []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	copy(to, r.left[0])
	r.left = r.left[1:]
	return nil
}
