package cluster_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/elector"
)

// An application that handles the errors of package elector need not know this package.
func TestReasonsAreThoseOfElector(t *testing.T) {
	kinds := []error{elector.ErrLost, elector.ErrResigned, elector.ErrStopped, elector.ErrNoOther, elector.ErrAlreadyStarted}
	for reason, want := range map[error]error{
		cluster.ErrStopped: elector.ErrStopped, cluster.ErrLeft: elector.ErrStopped, cluster.ErrRemoved: elector.ErrStopped,
		cluster.ErrSaveFailed: elector.ErrStopped, cluster.ErrDuplicateID: elector.ErrStopped, cluster.ErrListenerClosed: elector.ErrStopped,
		cluster.ErrResigned: elector.ErrResigned, cluster.ErrDeposed: elector.ErrLost, &cluster.DeposedError{}: elector.ErrLost,
		cluster.ErrReelected: elector.ErrLost, cluster.ErrLeaseExpired: elector.ErrLost,
		cluster.ErrNoLeader: elector.ErrLost, cluster.ErrNoMajority: elector.ErrLost,
		cluster.ErrNoEligibleMember: elector.ErrNoOther, cluster.ErrAlreadyStarted: elector.ErrAlreadyStarted,
	} {
		for _, kind := range kinds {
			if kind == want {
				require.ErrorIs(t, fmt.Errorf("wrapped: %w", reason), kind)
			} else {
				require.NotErrorIs(t, reason, kind)
			}
		}
		require.NotContains(t, reason.Error(), "elector:", "the words are those of this package")
	}
}
