//go:build unix

package cli

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/tlsauth"
)

// The test clears the umask, so that only the mode of the file protects it.
func TestSecretFileIsCreatedForOwnerOnly(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	status, stdout, stderr := elect("secret", path)
	require.Zero(t, status, stderr)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	_, err = tlsauth.New(tlsauth.Config{SecretFile: path})
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, stdout, strings.TrimSpace(string(text)))

	status, stdout, _ = elect("secret", "--json", path+"2")
	require.Zero(t, status)
	require.JSONEq(t, `{"file":"`+path+`2"}`, stdout)

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), link))
	for _, taken := range []string{path, link} {
		status, stdout, stderr = elect("secret", taken)
		require.Equal(t, statusFailed, status)
		require.Empty(t, stdout)
		require.Contains(t, stderr, taken+": file exists")
	}
	same, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, same)
	require.NoFileExists(t, filepath.Join(dir, "nowhere"))
}

func TestSecretIsNotPrintedToReadableFile(t *testing.T) {
	for mode, accepted := range map[os.FileMode]bool{0o600: true, 0o644: false, 0o640: false, 0o620: false, 0o602: false} {
		for _, args := range [][]string{{"secret"}, {"secret", "--json"}} {
			path := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Chmod(path, mode))
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			require.NoError(t, err)
			var stderr bytes.Buffer
			status := builtins.run(t.Context(), args, file, &stderr)
			require.NoError(t, file.Close())
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if accepted {
				require.Zero(t, status, stderr.String())
				require.NotEmpty(t, text)
				continue
			}
			require.Equal(t, statusFailed, status, "%o", mode)
			require.Empty(t, text, "%o", mode)
			require.Contains(t, stderr.String(), "'elect secret FILE'")
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode(), "the mode is left as it was")
		}
	}
}

func TestSecretIsPrintedAsJSON(t *testing.T) {
	status, stdout, _ := elect("secret", "--json")
	require.Zero(t, status)
	var o struct{ Secret string }
	decodeStrictly(t, stdout, &o)
	status, other, _ := elect("secret")
	require.Zero(t, status)
	require.Len(t, other, len(o.Secret)+1)
	require.NotEqual(t, o.Secret+"\n", other)
}

func TestTrialCertificatesAreAccepted(t *testing.T) {
	dir := t.TempDir()
	for _, wrong := range [][]string{
		{"issue", "--member", "n1"}, {"issue", "--member", "ca"}, {"issue", "--member", "../n1"}, {"issue"},
		{"issue", "--member", "n1", "--operator"}, {"init", "--cluster", "a b"}, {"init", "--days", "0"},
	} {
		status, stdout, stderr := elect(append(append([]string{"cert"}, wrong...), "--dir", dir)...)
		require.NotZero(t, status, "%v", wrong)
		require.Empty(t, stdout)
		require.NotEmpty(t, stderr)
	}
	status, stdout, stderr := elect("cert", "init", "--cluster", "demo", "--dir", dir)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "for trials and tests only")
	before, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	status, _, stderr = elect("cert", "init", "--cluster", "demo", "--dir", dir)
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "there is an authority already: "+dir)
	after, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	require.Equal(t, before, after)

	for identity, args := range map[string][]string{
		"member n1": {"--member", "n1"}, "operator": {"--operator"}, "observer": {"--observer"},
	} {
		status, stdout, stderr = elect(append([]string{"cert", "issue", "--cluster", "demo", "--dir", dir, "--json"}, args...)...)
		require.Zero(t, status, stderr)
		var o certificateObject
		decodeStrictly(t, stdout, &o)
		require.Equal(t, []string{"cert", "is", "key", "until"}, keys(t, stdout))
		require.Equal(t, identity, o.Is)
		e, err := tlsauth.New(tlsauth.Config{Cluster: "demo", TLS: tlsauth.Certificate{CA: filepath.Join(dir, "ca.crt"), Cert: o.Cert, Key: o.Key}})
		require.NoError(t, err)
		require.Equal(t, identity, e.Self().String())
	}

	first, err := tls.LoadX509KeyPair(filepath.Join(dir, "n1.crt"), filepath.Join(dir, "n1.key"))
	require.NoError(t, err)
	status, _, stderr = elect("cert", "issue", "--cluster", "demo", "--dir", dir, "--member", "n1", "--days", "1")
	require.Zero(t, status, stderr)
	renewed, err := tls.LoadX509KeyPair(filepath.Join(dir, "n1.crt"), filepath.Join(dir, "n1.key"))
	require.NoError(t, err)
	require.True(t, renewed.Leaf.NotAfter.Before(first.Leaf.NotAfter))
	var left []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	text, _ := json.Marshal(left)
	require.JSONEq(t, `["ca.crt","ca.key","n1.crt","n1.key","observer.crt","observer.key","operator.crt","operator.key"]`, string(text))
}

func TestAuthorityAccessibleToOthersIsRejected(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"ca.key": 0o644, "ca.crt": 0o646} {
		dir := t.TempDir()
		status, _, stderr := elect("cert", "init", "--dir", dir)
		require.Zero(t, status, stderr)
		path := filepath.Join(dir, name)
		require.NoError(t, os.Chmod(path, mode))
		status, _, stderr = elect("cert", "issue", "--dir", dir, "--operator")
		require.Equal(t, statusFailed, status)
		require.Contains(t, stderr, path+": other users can")
		require.NoFileExists(t, filepath.Join(dir, "operator.crt"))
	}
}

// The exit status is that of a problem that no restart repairs.
func TestConfigWritableByOthersIsRejected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "elect.yaml")
	require.NoError(t, os.WriteFile(path, []byte("listen: nowhere\n"), 0o600))
	require.NoError(t, os.Chmod(path, 0o606))
	for _, args := range [][]string{{"node", "--config", path}, {"config", "check", path}, {"status", "127.0.0.1:1", "--config", path}} {
		status, _, stderr := elect(args...)
		require.Equal(t, statusUsage, status, stderr)
		require.Contains(t, stderr, "other users can change it (mode 0606), want no write permission for group and others: chmod go-w "+path)
	}
}
