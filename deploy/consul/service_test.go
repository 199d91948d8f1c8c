// Package consul has no code. Its test reads the registration in docs/operations.md as the client of Consul does: an
// unknown field is an error. It is a module of its own, so that no user of elect downloads the types of Consul.
package consul_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/stretchr/testify/require"
)

func TestRegistration(t *testing.T) {
	document, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(document), "<!-- example: consul -->\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n\n")
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var service api.AgentServiceRegistration
	require.NoError(t, decoder.Decode(&service))
	require.Equal(t, "app", service.Name)
	require.Equal(t, "https://10.0.0.1:7480/leader", service.Check.HTTP)
	require.True(t, service.Check.TLSSkipVerify, "the authority of the agent is another one")
	for _, duration := range []string{service.Check.Interval, service.Check.Timeout} {
		_, err := time.ParseDuration(duration)
		require.NoError(t, err)
	}
}
