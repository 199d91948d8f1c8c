package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
)

// elect lab serves its page on the loopback until it is interrupted.
func TestLabServesPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int)
	go func() {
		status := newProgram(builtin.Registry()).run(ctx, []string{"lab", "--no-open", "--json"}, out, &stderr)
		out.Close()
		ended <- status
	}()
	line, err := bufio.NewReader(in).ReadBytes('\n')
	require.NoError(t, err)
	var at struct{ URL string }
	require.NoError(t, json.Unmarshal(line, &at))
	for host, want := range map[string]int{"": http.StatusOK, "example.com": http.StatusMisdirectedRequest} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL, nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, host)
	}
	cancel()
	require.NotZero(t, <-ended)
	http.DefaultClient.CloseIdleConnections()
}

func TestLabListensOnlyOnLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:80", "localhost", ":8080", ""} {
		status, out, err := elect("lab", "--no-open", "--listen", addr)
		require.Equal(t, statusUsage, status, addr)
		require.Empty(t, out)
		require.Contains(t, err, "want an address of the loopback")
	}
}
