package kubernetes_test

import (
	"context"
	"os"

	"github.com/elect-go/elect/elector"
	"github.com/elect-go/elect/elector/kubernetes"
)

// A pod contends with its own name, and publishes its address. The Lease and the role are in docs/outgrowing.md.
func Example() {
	e, err := kubernetes.New(kubernetes.Config{Lease: "leader", Name: os.Getenv("POD_NAME"), Meta: map[string]string{"http": os.Getenv("POD_IP") + ":8080"}})
	if err != nil {
		panic(err)
	}
	err = elector.Run(context.Background(), e, func(ctx context.Context, l elector.Leadership) error {
		<-ctx.Done() // work while this pod leads
		return nil
	})
	if err != nil {
		panic(err)
	}
}
