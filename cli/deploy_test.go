package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings and flags in the manifests of Kubernetes, in the unit of systemd and in the Dockerfile have no problem.
func TestDeployedSettingsAreValid(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join("..", "deploy", path))
		require.NoError(t, err)
		return string(text)
	}
	file, secret := filepath.Join(t.TempDir(), "elect.yaml"), filepath.Join(t.TempDir(), "secret")
	status, _, errors := elect("secret", secret)
	require.Zero(t, status, errors)
	write := func(text string) {
		text = strings.NewReplacer("/secret/secret", secret, "/etc/elect.secret", secret).Replace(text)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	check := func(command string) {
		words := strings.Fields(command)
		require.Equal(t, "node", words[0], command)
		args := []string{"config", "check", file}
		for i := 1; i < len(words); i++ {
			if words[i] == "--config" { // the file above
				i++
				continue
			}
			args = append(args, words[i])
		}
		status, _, errors := elect(args...)
		require.Zero(t, status, "%v: %s", args, errors)
	}

	manifests := read("kubernetes/elect.yaml")
	_, settings, found := strings.Cut(manifests, "  elect.yaml: |\n")
	require.True(t, found)
	settings, _, _ = strings.Cut(settings, "---\n")
	write(strings.ReplaceAll("\n"+settings, "\n    ", "\n"))
	args := regexp.MustCompile(`args: \[(.*)\]`).FindStringSubmatch(manifests)
	require.NotNil(t, args)
	check(strings.NewReplacer(",", "", `"`, "", "$(POD)", "elect-0").Replace(args[1]))

	write("listen: 10.0.0.1:7400\nmembers: [10.0.0.1:7400, 10.0.0.2:7400, 10.0.0.3:7400]\nsecret_file: /etc/elect.secret\n")
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/elect (.*)$`).FindStringSubmatch(read("systemd/elect.service"))
	require.NotNil(t, start)
	check(strings.ReplaceAll(start[1], "${STATE_DIRECTORY}", "/var/lib/elect"))

	write("listen: 10.0.0.1:7400\nmembers: [10.0.0.1:7400, 10.0.0.2:7400]\nsecret_file: /etc/elect.secret\ndata_dir: /data\n")
	cmd := regexp.MustCompile(`(?m)^CMD \[(.*)\]$`).FindStringSubmatch(read("docker/Dockerfile"))
	require.NotNil(t, cmd)
	check(strings.NewReplacer(",", "", `"`, "").Replace(cmd[1]))
}
