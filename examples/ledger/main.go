// Command ledger shows the purpose of a fencing token. Some processes elect a leader, which
// writes numbered entries into a database. Meanwhile, leaders are stopped, disconnected from
// the other members and killed. Then the ledger is checked: with the gate, no entry of an older
// leader follows an entry of a newer one. Without the gate, some do.
//
//	ledger                         a minute, in an SQLite file
//	ledger -gate=false             the same without the gate
//	ledger -for 10s -algorithm bully
//	ledger -db 'postgres://postgres@127.0.0.1/postgres?sslmode=disable'
//	ledger -etcd 127.0.0.1:2379    move the writers from the cluster to an etcd, and back, while they write
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// settings are what all processes of a run have in common.
type settings struct {
	db        string
	gate      bool
	algorithm string
	etcd      string // addresses of the servers of an etcd, with commas; empty without a move
}

func (s *settings) flags(set *flag.FlagSet) {
	set.StringVar(&s.db, "db", "", "an SQLite `file`, or the URL of a PostgreSQL; a file that is removed in the end")
	set.BoolVar(&s.gate, "gate", true, "write through the gate")
	set.StringVar(&s.algorithm, "algorithm", "vote", "the `word` of the algorithm")
	set.StringVar(&s.etcd, "etcd", "", "move to the etcd with these `addresses` (with commas), and back; without the gate, because it takes tokens of one scope")
}

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == "member" { // the driver starts these
		err = member(os.Args[2:])
	} else {
		err = run(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var s settings
	flags := flag.NewFlagSet("ledger", flag.ExitOnError)
	s.flags(flags)
	lasts := flags.Duration("for", time.Minute, "how `long` leaders are disturbed")
	_ = flags.Parse(args)
	dir, err := os.MkdirTemp("", "ledger-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.db == "" {
		s.db = filepath.Join(dir, "ledger.sqlite")
	}
	disturb := func(d *driver) error { return d.disturb(*lasts) }
	if s.etcd != "" {
		s.gate, disturb = false, (*driver).move
	}
	found, err := drive(context.Background(), s, dir, disturb)
	if err != nil {
		return err
	}
	fmt.Println(found)
	if s.etcd != "" && len(found.late) > 0 {
		return errors.New("two have worked at once")
	}
	if s.gate && len(found.late) > 0 {
		return fmt.Errorf("%d entries got past the gate", len(found.late))
	}
	return nil
}
