package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/client"
)

// A node is asked to give its leadership up, before its machine is stopped.
func ExampleClient() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var c client.Client
	var refused *client.RefusedError
	switch err := c.Resign(ctx, "127.0.0.1:1", time.Minute); {
	case err == nil:
		fmt.Println("another leads")
	case errors.As(err, &refused):
		fmt.Println("it does not:", refused.Reason)
	case errors.Is(err, client.ErrNotNode):
		fmt.Println("that is no node")
	default:
		fmt.Println("nobody was reached")
	}
	// Output:
	// nobody was reached
}
