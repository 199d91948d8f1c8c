package tlsauth_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/elect-go/elect/tlsauth"
)

// Both ends authenticate each other before they use a connection.
func Example() {
	folder, err := os.MkdirTemp("", "secure")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "secret")
	if err := os.WriteFile(file, []byte(tlsauth.NewSecret()), 0o600); err != nil {
		log.Fatal(err)
	}
	node, err := tlsauth.New(tlsauth.Config{Cluster: "demo", SecretFile: file})
	if err != nil {
		log.Fatal(err)
	}

	here, there := net.Pipe()
	go func() {
		c, identity, err := node.Server(there)
		if err != nil {
			log.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, fmt.Sprintf("%s, may be n1: %t, may give orders: %t", identity, identity.AllowsName("n1"), identity.CanAdminister()))
	}()
	c, _, err := node.Client(here)
	if err != nil {
		log.Fatal(err)
	}
	said, err := io.ReadAll(c)
	fmt.Println(string(said), err)
	// Output: holder of the secret, may be n1: true, may give orders: true <nil>
}

// A peer that speaks plain text, and a peer with another secret, are rejected.
func Example_refused() {
	folder, err := os.MkdirTemp("", "secure")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	var ends []*tlsauth.Endpoint
	for _, name := range []string{"one", "other"} {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(tlsauth.NewSecret()), 0o600); err != nil {
			log.Fatal(err)
		}
		end, err := tlsauth.New(tlsauth.Config{Cluster: "demo", SecretFile: file})
		if err != nil {
			log.Fatal(err)
		}
		ends = append(ends, end)
	}

	here, there := net.Pipe()
	go func() { _, _ = io.WriteString(here, "hello") }()
	_, _, err = ends[0].Server(there)
	fmt.Println(errors.Is(err, tlsauth.ErrPlain))

	here, there = net.Pipe()
	go func() { _, _, _ = ends[0].Server(there) }()
	_, _, err = ends[1].Client(here)
	_, refused := errors.AsType[*tlsauth.RejectedError](err)
	fmt.Println(refused)
	// Output:
	// true
	// true
}
