package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecoverAsksOnTerminal(t *testing.T) {
	a, _ := stoppedPair(t)
	ours, theirs := terminal(t)
	recovers := func(typed string) (said string, err error) {
		_, err = ours.WriteString(typed + "\n")
		require.NoError(t, err)
		var out bytes.Buffer
		root := builtins.newRoot()
		root.SetIn(theirs)
		root.SetOut(&out)
		root.SetArgs([]string{"recover", "--data-dir", a, "--survivor", "n1"})
		err = root.Execute()
		require.Contains(t, out.String(), "Type yes to write this: ")
		return out.String(), err
	}
	_, err := recovers("y")
	require.EqualError(t, err, "not confirmed: nothing was written")
	said, err := recovers("yes")
	require.NoError(t, err)
	require.Contains(t, said, "Written.")
}
