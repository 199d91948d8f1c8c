package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/fence"
)

// postgres starts a server. It skips the test if PostgreSQL is not installed.
func postgres(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no PostgreSQL here: %v", err)
		}
	}
	dir, err := os.MkdirTemp("", "ledger-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	var credential *syscall.Credential
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		account, err := user.Lookup("nobody")
		if err != nil {
			t.Skipf("PostgreSQL does not run as root, and another user is missing: %v", err)
		}
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		require.NoError(t, os.Chown(dir, uid, gid))
		credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	as := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: credential}
		return cmd
	}
	data := dir + "/data"
	if said, err := as("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "--no-instructions").CombinedOutput(); err != nil {
		t.Skipf("no PostgreSQL here: initdb: %v\n%s", err, said)
	}
	server := as("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	url := "postgres://postgres@/postgres?sslmode=disable&host=" + dir
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	defer db.Close()
	require.Eventually(t, func() bool { return db.Ping() == nil }, 30*time.Second, 20*time.Millisecond)
	return url
}

var ours, theirs = algo.NodeID{15: 1}, algo.NodeID{15: 2}

func by(id algo.NodeID, token uint64) elector.Leadership {
	return elector.Leadership{Scope: id, Token: token, Name: fmt.Sprint("leader ", token)}
}

// The gate works in real databases as in the fake database of package fence.
func TestGateInRealDatabase(t *testing.T) {
	databases(t, func(t *testing.T, db string) {
		ctx := context.Background()
		var both [2]*ledger // as in two processes
		for i := range both {
			l, err := openLedger(settings{db: db, gate: true})
			require.NoError(t, err)
			defer l.db.Close()
			both[i] = l
		}
		l := both[0]
		err := l.write(ctx, by(ours, 1))
		require.ErrorContains(t, err, "fence: ledger: ", "there is no table")
		require.NoError(t, l.create(ctx))
		held, err := l.gate.Highest(ctx)
		require.NoError(t, err)
		require.Zero(t, held)
		for _, test := range []struct {
			by   elector.Leadership
			want error
		}{{by(ours, 9), nil}, {by(ours, 9), nil}, {by(ours, 8), fence.ErrStale}, {by(ours, 10), nil}, {by(ours, 9), fence.ErrStale}, {by(theirs, 11), fence.ErrOtherCluster}} {
			require.ErrorIs(t, l.write(ctx, test.by), test.want)
		}
		failed := errors.New("it failed")
		require.Equal(t, failed, l.gate.Write(ctx, fence.Token{Cluster: ours, Number: 11}, func(*sql.Tx) error { return failed }))
		require.NoError(t, l.write(ctx, by(ours, 10)), "a write that failed leaves no token")

		from := fence.Token{Cluster: ours, Number: 10}
		require.ErrorIs(t, l.gate.Adopt(ctx, fence.Token{Cluster: ours, Number: 9}, fence.Token{Cluster: theirs}), fence.ErrAdoptMismatch)
		require.NoError(t, l.gate.Adopt(ctx, from, fence.Token{Cluster: theirs}))
		require.ErrorIs(t, l.gate.Adopt(ctx, from, fence.Token{Cluster: theirs}), fence.ErrAdoptMismatch)
		require.ErrorIs(t, l.write(ctx, by(ours, 11)), fence.ErrOtherCluster)
		require.NoError(t, l.write(ctx, by(theirs, 1)))

		// Concurrent writes with random tokens.
		require.NoError(t, l.create(ctx))
		var all sync.WaitGroup
		for i := range 8 {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			all.Go(func() {
				for n := range uint64(25) {
					err := both[i%2].write(ctx, by(ours, 1+n/3+random.Uint64N(5)))
					if err != nil && !errors.Is(err, fence.ErrStale) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		entries, err := l.read(ctx)
		require.NoError(t, err)
		found := check(entries)
		require.Empty(t, found.late)
		require.Greater(t, found.leaders, 5)
	})
}

// The gate rejects every write if it cannot compare the token with its row.
func TestGateRejectsTableOfAnotherShape(t *testing.T) {
	databases(t, func(t *testing.T, db string) {
		ctx := context.Background()
		l, err := openLedger(settings{db: db, gate: true})
		require.NoError(t, err)
		defer l.db.Close()
		for _, statement := range []string{
			`CREATE TABLE fence (resource VARCHAR(255), cluster VARCHAR(36), token BIGINT)`,      // no column writes
			`ALTER TABLE fence ADD COLUMN writes BIGINT`,                                         // no row
			`INSERT INTO fence VALUES ('ledger', NULL, NULL, 0)`,                                 // an empty row
			`UPDATE fence SET cluster = 'prod', token = 1`,                                       // no cluster ID
			`UPDATE fence SET cluster = '00000000-0000-0000-0000-000000000001', token = -1`,      // a negative token
			`INSERT INTO fence VALUES ('ledger', '00000000-0000-0000-0000-000000000001', -1, 0)`, // two rows
			`UPDATE fence SET token = 1`,                                                         // two valid rows
			`DROP TABLE fence`,
		} {
			_, err := l.db.ExecContext(ctx, statement)
			require.NoError(t, err)
			err = l.gate.Write(ctx, fence.Token{Cluster: ours, Number: 5}, func(*sql.Tx) error {
				t.Errorf("write accepted after %s", statement)
				return nil
			})
			require.ErrorContains(t, err, "fence: ledger: ", statement)
		}
	})
}
