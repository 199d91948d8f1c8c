package confload

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/tlsauth"
)

// certificates writes the certificate, key and CA of n1 and returns the text of a section that names these files.
func certificates(t *testing.T, life time.Duration) string {
	t.Helper()
	ca, caKey, err := tlsauth.NewAuthority("elect", 24*time.Hour)
	require.NoError(t, err)
	cert, key, err := tlsauth.Issue(ca, caKey, tlsauth.Identity{Cluster: "elect", Role: tlsauth.Member, Names: []string{"n1"}}, life)
	require.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string][]byte{"ca": ca, "cert": cert, "key": key} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return "{cert: " + filepath.Join(dir, "cert") + ", key: " + filepath.Join(dir, "key") + ", ca: " + filepath.Join(dir, "ca") + "}\n"
}

func TestHTTPServer(t *testing.T) {
	files := certificates(t, time.Hour)
	shared, own := "tls: "+files, "http_tls: "+files
	const health, insecure = "http_health_without_credentials: true\n", "http_insecure: true\n"
	const plain, open, ofCluster, ofOther = "plain text on the loopback", "plain text", "certificates of the cluster", "certificates of another authority"
	for name, test := range map[string]struct{ text, want string }{
		"loopback":                     {"http: 127.0.0.1:7480\n", plain},
		"loopback of IPv6":             {`http: "[::1]:7480"` + "\n", plain},
		"loopback in a closed cluster": {"http: 127.0.0.1:7480\n" + shared, plain},
		"insecure loopback":            {"http: 127.0.0.1:7480\n" + insecure, plain},
		"loopback with certificates":   {"http: 127.0.0.1:7480\n" + own + health, ofOther},
		"all addresses":                {"http: :7480\n" + shared + health, ofCluster},
		"a name":                       {"http: n1.example:7480\n" + shared, ofCluster},
		"both":                         {"http: 10.0.0.1:7480\n" + shared + own, ofOther},
		"insecure":                     {"http: 10.0.0.1:7480\n" + insecure, open},
		"insecure in a closed cluster": {"http: 10.0.0.1:7480\n" + insecure + shared, open},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sources{file: "name: n1\nlisten: 127.0.0.1:7400\nmembers: [127.0.0.1:7400]\nlease: off\n" + test.text}.load(t)
			require.NoError(t, err)
			server := s.HTTPServer()
			got := plain
			switch {
			case server.IsOpen:
				got = open
			case server.TLS != nil && server.TLS.Cluster == "elect":
				got = ofCluster
			case server.TLS != nil:
				got = ofOther
			}
			require.Equal(t, test.want, got)
			require.Equal(t, s.HTTP, server.Addr)
			require.Equal(t, s.HTTPHealthWithoutCredentials, server.IsHealthPublic)
		})
	}
}

func TestHTTPProblems(t *testing.T) {
	files, expired := certificates(t, time.Hour), certificates(t, -time.Minute)
	const beyond = ", want an address of the loopback, such as 127.0.0.1:7480, or one of: tls (clients need a certificate of the cluster), " +
		"http_tls (clients need one of another authority), http_insecure: true (every client that reaches it reads the names and addresses of the members)"
	const form = ", want host:port with a port number, such as 127.0.0.1:7480"
	for text, want := range map[string]string{
		"http: 10.0.0.1:7480":   `elect.yaml:4: http is "10.0.0.1:7480"` + beyond,
		"http: :7480":           `elect.yaml:4: http is ":7480"` + beyond,
		"http: localhost:7480":  `elect.yaml:4: http is "localhost:7480"` + beyond,
		"http: 127.0.0.1":       `elect.yaml:4: http is "127.0.0.1"` + form,
		"http: 127.0.0.1:http":  `elect.yaml:4: http is "127.0.0.1:http"` + form,
		"http: 127.0.0.1:65536": `elect.yaml:4: http is "127.0.0.1:65536"` + form,
		"http: 10.0.0.1:7480\nhttp_insecure: true\nhttp_tls: " + files: "elect.yaml:5: http_insecure is true beside http_tls, want one of the two",
		"http: 10.0.0.1:7480\nhttp_insecure: true\nhttp_health_without_credentials: true": "elect.yaml:6: http_health_without_credentials is true, " +
			"want http with TLS: in plain text every path is answered without credentials",
		"http: 10.0.0.1:7480\nhttp_tls: {cert: x}":                            "http_tls is not whole, want all of cert, key and ca",
		"http: 10.0.0.1:7480\nhttp_tls: " + expired:                           "certificate has expired or is not yet valid",
		"http: 10.0.0.1:7480\nhttp_tls: {cert: /no/x, key: /no/y, ca: /no/z}": `elect.yaml:5: http_tls.ca is "/no/z", want a file that can be used (`,
	} {
		_, err := sources{file: "listen: 127.0.0.1:7400\nmembers: [127.0.0.1:7400]\nlease: off\n" + text}.load(t)
		require.ErrorContains(t, err, want, text)
	}
	_, err := sources{file: "listen: 127.0.0.1:7400\nmembers: [127.0.0.1:7400]\nlease: off\nhttp_tls: {cert: x}\n"}.load(t)
	require.NoError(t, err, "without http nothing is served")
}
