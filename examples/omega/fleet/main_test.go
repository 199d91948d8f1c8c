package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A leader is elected, replaced when it is stopped, and followed again when it is back:
// real nodes, by an algorithm that the module does not have.
func TestOmegaElectsRealNodes(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var out bytes.Buffer
	require.NoError(t, failover(ctx, &out, "omega"))
	story := out.String()
	for _, said := range []string{"five members elect by omega\n", "n5 leads in epoch", "n5 is stopped\n", "n4 leads in epoch", "n5 comes back\n", "n4 follows n5 in epoch"} {
		_, after, found := strings.Cut(story, said)
		require.True(t, found, "%q is not said after what is to come before it, in\n%s", said, out.String())
		story = after
	}
}

func TestAnInterruptEndsIt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, failover(ctx, &bytes.Buffer{}, "omega"), context.Canceled)
}

func TestTheWordSelectsTheAlgorithm(t *testing.T) {
	err := failover(t.Context(), &bytes.Buffer{}, "paxos")
	require.ErrorContains(t, err, "want one of bully, omega, ring, vote")
}
