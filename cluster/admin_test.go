package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/untrusted"
	"github.com/elect-go/elect/internal/wire"
)

// The client receives the reason of a rejection whatever bytes the reason contains.
func TestAnyRejectionReasonFitsReply(t *testing.T) {
	for _, reason := range []string{"", "no", "é" + strings.Repeat("a", 498) + "é", strings.Repeat("é", 600), "\xff/data", strings.Repeat("\xff", 400)} {
		_, err := clients.Append(nil, wire.AdminReply{Reason: untrusted.Truncate(reason, wire.MaxReason)})
		require.NoError(t, err, "%q", reason)
	}
}
