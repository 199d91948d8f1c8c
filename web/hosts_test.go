package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/web"
)

func TestHandlerServesAllowedHosts(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("n1")) })
	handler := web.AllowHosts(next, "N1.example", "10.0.0.1", "fd00::1")
	for _, test := range []struct {
		name, host string
		want       int
	}{
		{"IPv4", "127.0.0.1", http.StatusOK},
		{"IPv4 with port", "127.0.0.1:7480", http.StatusOK},
		{"other loopback address", "127.9.9.9:7480", http.StatusOK},
		{"IPv6", "[::1]", http.StatusOK},
		{"IPv6 with port", "[::1]:7480", http.StatusOK},
		{"IPv4 in IPv6", "[::ffff:127.0.0.1]:7480", http.StatusOK},
		{"localhost", "localhost", http.StatusOK},
		{"localhost with port", "LocalHost:7480", http.StatusOK},
		{"localhost, fully qualified", "localhost.:7480", http.StatusOK},
		{"listed name", "n1.example:7480", http.StatusOK},
		{"listed name, fully qualified", "n1.example.", http.StatusOK},
		{"listed address", "10.0.0.1:7480", http.StatusOK},
		{"listed IPv6 address", "[fd00::1]:7480", http.StatusOK},
		{"none, as of HTTP/1.0", "", http.StatusOK},
		{"website", "evil.example", http.StatusMisdirectedRequest},
		{"website with port", "evil.example:7480", http.StatusMisdirectedRequest},
		{"name that begins like an address", "127.0.0.1.evil.example", http.StatusMisdirectedRequest},
		{"name that begins with localhost", "localhost.evil.example", http.StatusMisdirectedRequest},
		{"name that ends with localhost", "evillocalhost", http.StatusMisdirectedRequest},
		{"name below a listed one", "evil.n1.example", http.StatusMisdirectedRequest},
		{"other address", "10.0.0.2:7480", http.StatusMisdirectedRequest},
		{"unspecified address", "0.0.0.0:7480", http.StatusMisdirectedRequest},
		{"IPv6 without brackets and port", "fd00::1:7480", http.StatusMisdirectedRequest},
	} {
		r := httptest.NewRequest(http.MethodGet, "/leader", nil)
		r.Host = test.host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Equal(t, test.want, w.Code, test.name)
		require.Equal(t, test.want == http.StatusOK, w.Body.String() == "n1", test.name)
	}
}
