package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/elect-go/elect/client"
)

// A leader resigns before its machine is stopped.
func ExampleClient() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var c client.Client
	var refused *client.RejectedError
	switch err := c.Resign(ctx, "127.0.0.1:1", time.Minute); {
	case err == nil:
		fmt.Println("another node leads")
	case errors.As(err, &refused):
		fmt.Println("rejected:", refused.Reason)
	case errors.Is(err, client.ErrNotNode):
		fmt.Println("no node listens there")
	default:
		fmt.Println("no connection")
	}
	// Output:
	// no connection
}
