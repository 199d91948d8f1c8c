package cli

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/logqueue"
)

func TestCountOfDroppedLinesHasFormOfLog(t *testing.T) {
	for form, want := range map[string]string{
		"text": `level=WARN msg="log lines dropped" lines=1`,
		"json": `"level":"WARN","msg":"log lines dropped","lines":1}`,
	} {
		var output bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetErr(&output)
		queue := queueErrors(cmd, form)
		require.Equal(t, queue, cmd.ErrOrStderr())
		_, err := queue.Write(make([]byte, logqueue.Limit+1))
		require.NoError(t, err)
		queue.Close()
		require.Contains(t, output.String(), want)
	}
}
