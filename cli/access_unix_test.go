//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/tlsauth"
)

// Without the secret, the error names the ways to provide it.
func TestClientFindsSecretInFlagVariableOrConfig(t *testing.T) {
	testkit.OnlyLong(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(file, []byte(tlsauth.NewSecret()), 0o600))
	addr := keptFree(t, nil)
	config := filepath.Join(dir, "elect.yaml")
	require.NoError(t, os.WriteFile(config, []byte("name: n1\nlisten: "+addr+"\nmembers: ["+addr+"]\nsecret_file: "+file+"\nlease: off\n"), 0o600))
	p := launch(t, "node", "--config", config, "--preset", "local")
	require.Eventually(t, func() bool {
		status, _, _ := elect("status", addr, "--secret-file", file)
		return status == 0
	}, patience, patience/1000, "%s", p.stderr.text)

	for _, args := range [][]string{{"status", addr}, {"priority", "7", addr}} {
		status, stdout, stderr := elect(args...)
		require.Equal(t, statusFailed, status)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "this cluster is closed, and wants the shared secret (--secret-file FILE, ELECT_SECRET_FILE, or secret_file: FILE)")
		for _, way := range [][]string{{"--secret-file", file}, {"--config", config}} {
			status, _, stderr := elect(append(args, way...)...)
			require.Zero(t, status, stderr)
		}
		t.Setenv("ELECT_SECRET_FILE", file)
		status, _, stderr = elect(args...)
		require.Zero(t, status, stderr)
		require.NoError(t, os.Unsetenv("ELECT_SECRET_FILE"))
	}

	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte(tlsauth.NewSecret()), 0o600))
	status, _, stderr := elect("status", addr, "--secret-file", other)
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "it has not proved a secret that is believed here")
	status, _, stderr = elect("status", addr, "--secret-file", filepath.Join(dir, "none"))
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "no such file")
	require.Contains(t, p.stderr.text(), `msg="admin request accepted"`)
}

// The error lists the settings to choose from.
func TestExposedNodeRequiresSecurityChoice(t *testing.T) {
	testkit.Processes(t)
	p := launch(t, "node", "--listen", "0.0.0.0:0", "--advertise", "10.0.0.1:7400", "--members", "10.0.0.1:7400", "--lease=off")
	require.Equal(t, statusUsage, p.status(t))
	for _, line := range []string{"secret_file: FILE", "elect secret FILE", "tls: {cert: FILE, key: FILE, ca: FILE}", "insecure: true"} {
		require.Contains(t, p.stderr.text(), line)
	}
}
