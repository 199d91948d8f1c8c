package main

import (
	"context"
	"database/sql"
	"strings"

	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/fence"
)

// ledger is the resource: a table of entries, and the row of its gate in the same database.
type ledger struct {
	db    *sql.DB
	gate  *fence.Table
	gated bool
}

func openLedger(s settings) (*ledger, error) {
	driver, name, dollar := "sqlite", "file:"+s.db+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)", false
	if strings.HasPrefix(s.db, "postgres://") {
		driver, name, dollar = "postgres", s.db, true
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	return &ledger{db: db, gate: &fence.Table{DB: db, Resource: "ledger", NumberedArgs: dollar}, gated: s.gate}, nil
}

// create drops the tables and creates them again, as an operator would once.
func (l *ledger) create(ctx context.Context) error {
	for _, statement := range []string{
		`DROP TABLE IF EXISTS ledger`,
		`DROP TABLE IF EXISTS fence`,
		`CREATE TABLE ledger (number BIGINT PRIMARY KEY, token BIGINT NOT NULL, member VARCHAR(64) NOT NULL, scope VARCHAR(36) NOT NULL)`,
		`CREATE TABLE fence (resource VARCHAR(255) PRIMARY KEY, cluster VARCHAR(36) NOT NULL, token BIGINT NOT NULL, writes BIGINT NOT NULL)`,
		`INSERT INTO fence VALUES ('ledger', '00000000-0000-0000-0000-000000000000', 0, 0)`,
	} {
		if _, err := l.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// write adds an entry. Without the gate it does what an ordinary service would do.
func (l *ledger) write(ctx context.Context, by elector.Leadership) error {
	add := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO ledger SELECT COALESCE(MAX(number), 0) + 1, CAST($1 AS BIGINT), $2, $3 FROM ledger`,
			int64(by.Token), by.Name, algo.NodeID(by.Scope).String())
		return err
	}
	if l.gated {
		return l.gate.Write(ctx, fence.Token{Cluster: by.Scope, Number: by.Token}, add)
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := add(tx); err != nil {
		return err
	}
	return tx.Commit()
}
