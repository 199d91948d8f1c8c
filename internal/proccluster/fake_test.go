package proccluster_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/trace"
)

// The test binary is also a fake node, and a program that holds a cluster until it is killed.
const roleEnv = "FLEET_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "node":
		pretend(os.Args[1:])
	case "holder":
		hold()
	default:
		os.Exit(m.Run())
	}
}

// flagOf returns the value of a flag; empty if it is missing.
func flagOf(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// idOf returns the ID of a fake node.
func idOf(name string) algo.NodeID { return algo.NodeID{15: byte(proccluster.Number(name))} }

// pretend runs a fake node, without an election: it reports that it is ready and accepts every connection. "--fault"
// selects a failure, "--at" the node that fails.
func pretend(args []string) {
	name, fault := flagOf(args, "--name"), flagOf(args, "--fault")
	if at := flagOf(args, "--at"); at != "" && at != name {
		fault = ""
	}
	switch fault {
	case "start":
		fmt.Fprintln(os.Stderr, "first line\nno such luck")
		os.Exit(3)
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	l, err := net.Listen("tcp", flagOf(args, "--listen"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.MkdirAll(flagOf(args, "--data-dir"), 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stream := proccluster.NewStream(os.Stdout)
	report := func(kind trace.Kind, text string, m algo.Message) {
		stream.Event(trace.Event{At: time.Duration(proccluster.Now()), Node: idOf(name), Kind: kind, Format: text, Message: m})
	}
	report(trace.Ready, l.Addr().String(), nil)
	switch fault {
	case "garbage":
		_ = stream.Close()
		fmt.Println("no event")
	case "end":
		_ = stream.Close()
		fmt.Fprintln(os.Stderr, "had enough")
		os.Exit(4)
	}
	go func() {
		for {
			if _, err := l.Accept(); err != nil { // the connection ends with the process
				return
			}
		}
	}()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		report(trace.Send, "", trace.ReadMessage{Name: lines.Text()})
	}
}

// hold starts a cluster, and prints the addresses of its nodes and its folder.
func hold() {
	f, err := proccluster.New(background, config(2))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, s := range f.States() {
		fmt.Println(s.Addr)
	}
	fmt.Println(f.Dir())
	select {}
}
