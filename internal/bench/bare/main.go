// Command bare is a member without an algorithm, a store and memory of its own. It does only what no failover can do
// without: it notices the end of a peer, dials it without success, and sends one message. So the failover of such
// processes is the floor of every failover on this machine.
//
//	bare ADDRESS INDEX NODES    ADDRESS as in 127.0.0.1:0, INDEX from 0
//
// The process prints its address. It reads a line with the addresses of all processes below it, dials each, accepts a
// connection from each process above it, and prints "ready". Process 0 then waits to be killed. When it has ended, each
// other process prints three times of CLOCK_MONOTONIC in ns: when it saw the end, when its dial was refused, and when
// it received the message of the highest process, which sends it to the others after its own dial. The process ends
// with its standard input.
package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = os.Stderr.WriteString("bare: " + err.Error() + "\n")
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("want an address, an index and the number of nodes")
	}
	index, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	nodes, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	say(l.Addr().String())
	input := bufio.NewReaderSize(os.Stdin, 512)
	line, err := input.ReadString('\n')
	if err != nil {
		return err
	}
	below := strings.Fields(line)
	conns, err := connect(l, index, nodes, below)
	if err != nil {
		return err
	}
	// Each connection has a goroutine, as in a node.
	received := make([]chan error, nodes)
	for i, c := range conns {
		if i != index {
			received[i] = make(chan error, 1)
			go func() {
				_, err := c.Read(make([]byte, 1))
				received[i] <- err
			}()
		}
	}
	say("ready")
	if index > 0 {
		go failOver(conns, received, index, below[0])
	}
	_, err = io.Copy(io.Discard, input)
	return err
}

// connect returns a connection to each other process, by index. The dialer sends its index.
func connect(l net.Listener, index, nodes int, below []string) ([]net.Conn, error) {
	conns := make([]net.Conn, nodes)
	for i, addr := range below {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_, err = c.Write([]byte{byte(index)})
		}
		if err != nil {
			return nil, err
		}
		conns[i] = c
	}
	for range nodes - 1 - index {
		c, err := l.Accept()
		if err != nil {
			return nil, err
		}
		var from [1]byte
		if _, err := c.Read(from[:]); err != nil {
			return nil, err
		}
		conns[from[0]] = c
	}
	return conns, nil
}

// failOver waits for the end of process 0, which listened on addr, and prints the times.
func failOver(conns []net.Conn, received []chan error, index int, addr string) {
	highest := len(conns) - 1
	<-received[0]
	seen := now()
	for {
		c, err := net.Dial("tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err == nil {
			c.Close() // the kernel has not closed the listener yet
		}
	}
	refused := now()
	message := refused
	if index == highest {
		for _, c := range conns[1:highest] {
			_, _ = c.Write([]byte{1}) // if it fails, the receiver has ended and prints nothing
		}
	} else if <-received[highest] == nil {
		message = now()
	}
	say(strconv.FormatInt(seen, 10) + " " + strconv.FormatInt(refused, 10) + " " + strconv.FormatInt(message, 10))
}

// say writes a line. Without a reader the process ends with its standard input.
func say(line string) { _, _ = os.Stdout.WriteString(line + "\n") }
