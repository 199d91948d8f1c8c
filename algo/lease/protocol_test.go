package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/testkit"
)

// TestProtocolDocument recomputes the times of docs/protocol.md.
func TestProtocolDocument(t *testing.T) {
	want := make(map[string]string)
	for name, timing := range algo.Presets() {
		o := Defaults(timing)
		want[name] = fmt.Sprintf("duration %v renew_interval %v margin %v term %v", o.Duration, o.RenewInterval, o.Margin, o.usableDuration().Truncate(time.Millisecond))
	}
	require.Equal(t, want, testkit.Example(t, "../../docs/protocol.md", "lease times"))
}
