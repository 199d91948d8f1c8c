package tlsauth

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/untrusted"
)

// Config sets the credentials of an endpoint, and those that it accepts: a secret or a certificate. While a cluster
// changes from one to the other, it may have both: see Migrate.
type Config struct {
	// Cluster is the name of the cluster. A client may leave it empty: it then accepts any cluster, or the one that
	// its certificate names.
	Cluster string
	// Member is the name of this member, which its certificate must allow. It is empty for a client.
	Member string
	// SecretFile is a file with one or more secrets of [NewSecret], one per line. The first is used, and all are
	// accepted.
	SecretFile string
	// TLS are the files of a certificate.
	TLS Certificate
	// Migrate also accepts the previous way of authentication: plain text, if only one way is configured. With two
	// ways, plain text is rejected.
	Migrate bool
	// Log receives a line when files were reloaded, or could not be. The default is no log.
	Log *slog.Logger
}

// Certificate names files in PEM: all three, or none.
type Certificate struct {
	Cert string // names this member: elect://CLUSTER/member/NAME; a renewed one is taken over
	Key  string // its key, which no other user can read
	CA   string // authority that has signed the certificates of all members
}

// Endpoint authenticates the connections of a node or a client. Several goroutines may use it.
type Endpoint struct{ files files }

// New reads the files. Its error lists every problem, each as a [*algo.SettingError].
func New(c Config) (*Endpoint, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	noTLS := c.TLS == Certificate{}
	switch {
	case !noTLS && (c.TLS.Cert == "" || c.TLS.Key == "" || c.TLS.CA == ""):
		return nil, &algo.SettingError{Field: "tls", Got: "not whole", Want: "all of cert, key and ca"}
	case noTLS && c.SecretFile == "":
		return nil, &algo.SettingError{Field: "secret_file", Got: "empty", Want: "a file, or tls"}
	case !noTLS && c.SecretFile != "" && !c.Migrate:
		return nil, &algo.SettingError{Field: "tls", Got: "set beside secret_file", Want: "one of the two, or security: migrate while a cluster goes from the one to the other"}
	}
	e := &Endpoint{files: files{Config: c}}
	e.files.checkCert = e.files.checkOwn
	return e, e.files.load()
}

// Self returns the identity in this endpoint's certificate, or an unauthenticated one if it has none.
func (e *Endpoint) Self() Identity { return e.files.current().self }

// ErrPlain reports that the other side speaks plain text.
var ErrPlain = errors.New("tlsauth: plain text instead of TLS")

// RejectedError reports that the dialed side has rejected this one.
type RejectedError struct{ Reason string } // quoted from the other side

func (e *RejectedError) Error() string { return "tlsauth: refused by the other side: " + e.Reason }

// The kinds of the message that each side sends inside the channel. The kind is its first byte. A proof follows
// kindProved. A text, preceded by its length in one byte, follows kindRejected, which only the accepting side sends.
const (
	kindRejected  = 0
	kindCertified = 1 // the certificate is the only proof
	kindProved    = 2
)

const (
	protocol  = "elect"
	handshake = 0x16 // first byte of a TLS connection
	proofLen  = 32
	maxReason = 255
)

// Client authenticates a dialed connection before its first use, and returns the identity of the other side: a
// member, or a holder of the secret. The caller must set a deadline, and close nc after an error. If the other side
// has rejected this one, the error is a [*RejectedError]. If the other side does not speak TLS, the error wraps
// [ErrPlain]. A network error, such as io.EOF, is wrapped too.
func (e *Endpoint) Client(nc net.Conn) (net.Conn, Identity, error) {
	k, peeked := e.files.current(), newLimited(nc)
	t, material, err := openChannel(tls.Client(peeked, k.tlsConfig()))
	if err != nil {
		return nil, Identity{}, err
	}
	chain, cluster := t.ConnectionState().PeerCertificates, cmp.Or(e.files.Cluster, k.self.Cluster)
	id, authErr := k.identify(chain, x509.ExtKeyUsageServerAuth, cluster)
	id = k.certifiedIdentity(id, chain, x509.ExtKeyUsageServerAuth)
	if authErr == nil && id.Role != Member {
		authErr = fmt.Errorf("certificate %s: it is not that of a member", certTitle(chain[0]))
	}
	if authErr != nil && len(k.secrets) == 0 {
		return nil, Identity{}, rejectPeer(t, authErr)
	}
	message := []byte{kindCertified}
	if len(k.secrets) > 0 {
		message = append([]byte{kindProved}, k.secrets[0].proof(client, e.files.Cluster, material)...)
	}
	if _, err := t.Write(message); err != nil {
		return nil, Identity{}, networkError(err)
	}
	answer, proof, err := readProof(t, authErr == nil)
	switch {
	case err != nil:
		return nil, Identity{}, err
	case answer == kindProved && len(k.secrets) > 0 && k.secrets[0].verifyProof(proof, server, e.files.Cluster, material):
		id = Identity{Cluster: cluster, Role: SecretHolder, Names: id.Names, credential: k.secrets[0].credential()}
	case authErr != nil:
		return nil, Identity{}, fmt.Errorf("tlsauth: %w", authErr)
	}
	peeked.unlimit()
	return tlsConn{t, nc}, id, nil
}

// Server authenticates an accepted connection, and returns the identity of the dialer. Before the dialer has proved
// its identity, Server sends nothing that depends on a secret. The caller must set a deadline, and close nc after an
// error.
//
// If the dialer speaks plain text, the error wraps [ErrPlain], and the caller can tell the dialer so over the
// connection that is returned with it. With Config.Migrate and only one way configured, that is no error: the
// connection is returned unchanged, with an unauthenticated identity.
func (e *Endpoint) Server(nc net.Conn) (net.Conn, Identity, error) {
	var first [1]byte
	peeked := newLimited(nc)
	if _, err := io.ReadFull(peeked, first[:]); err != nil {
		return nil, Identity{}, networkError(err)
	}
	k := e.files.current()
	peeked.peeked = first[:]
	if first[0] != handshake {
		peeked.unlimit()
		if !e.files.Migrate || len(k.secrets) > 0 && k.authority != nil {
			return peeked, Identity{}, fmt.Errorf("%w: this cluster is closed, and wants %s", ErrPlain, k.requirement())
		}
		return peeked, Identity{}, nil
	}
	t, material, err := openChannel(tls.Server(peeked, k.tlsConfig()))
	if err != nil {
		return nil, Identity{}, err
	}
	chain := t.ConnectionState().PeerCertificates
	id, authErr := k.identify(chain, x509.ExtKeyUsageClientAuth, e.files.Cluster)
	id = k.certifiedIdentity(id, chain, x509.ExtKeyUsageClientAuth)
	kind, proof, err := readProof(t, authErr == nil)
	if err != nil {
		return nil, Identity{}, err
	}
	answer := []byte{kindCertified}
	if kind == kindProved {
		for _, s := range k.secrets {
			for _, cluster := range []string{e.files.Cluster, ""} {
				if !s.verifyProof(proof, client, cluster, material) {
					continue
				}
				if answer = append([]byte{kindProved}, s.proof(server, cluster, material)...); cluster == "" {
					id = Identity{Cluster: e.files.Cluster, Role: Operator}
				} else {
					id = Identity{Cluster: cluster, Role: SecretHolder, Names: id.Names}
				}
				id.credential = s.credential()
				authErr = nil
			}
		}
	}
	if authErr != nil {
		return nil, Identity{}, rejectPeer(t, authErr)
	}
	if _, err := t.Write(answer); err != nil {
		return nil, Identity{}, networkError(err)
	}
	peeked.unlimit()
	return tlsConn{t, nc}, id, nil
}

// tlsConfig returns the settings of the channel, in which the peer is authenticated afterwards.
func (k keys) tlsConfig() *tls.Config {
	return &tls.Config{
		VerifyConnection: func(state tls.ConnectionState) error { return k.checkChain(state.PeerCertificates) },
		// Without this list, the dialer could choose a curve that costs the listener ten times as much.
		CurvePreferences: []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256},
		MinVersion:       tls.VersionTLS13, NextProtos: []string{protocol}, Certificates: []tls.Certificate{k.own},
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // identify checks the certificates; the host name does not matter
		SessionTicketsDisabled: true, // each channel is authenticated
	}
}

// requirement describes the credentials that a rejected peer needs.
func (k keys) requirement() string {
	if k.authority != nil {
		return "a certificate of its authority (tls: {cert: FILE, key: FILE, ca: FILE})"
	}
	return "the shared secret (--secret-file FILE, ELECT_SECRET_FILE, or secret_file: FILE)"
}

// identify returns the identity in a chain of certificates. It fails if no authority is configured.
func (k keys) identify(chain []*x509.Certificate, usage x509.ExtKeyUsage, cluster string) (Identity, error) {
	if k.authority == nil {
		return Identity{}, errors.New(reasonNoSecret)
	}
	return verify(chain, k.authority, k.roots, usage, cluster)
}

// openChannel runs the TLS handshake, and derives the keying material of this channel: RFC 9266, tls-exporter.
func openChannel(t *tls.Conn) (_ *tls.Conn, material []byte, err error) {
	if err := t.Handshake(); err != nil {
		if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
			return nil, nil, fmt.Errorf("%w: %w", ErrPlain, err)
		}
		return nil, nil, networkError(err)
	}
	state := t.ConnectionState()
	if state.NegotiatedProtocol != protocol {
		return nil, nil, errors.New("tlsauth: the other side is no node of elect")
	}
	material, err = state.ExportKeyingMaterial("EXPORTER-Channel-Binding", nil, proofLen)
	return t, material, err
}

// readProof reads the message of the other side inside the channel. If isQuoted is set, the other side has proved its
// identity, and the error quotes its reason.
func readProof(t *tls.Conn, isQuoted bool) (kind byte, proof []byte, err error) {
	var first [1]byte
	if _, err := io.ReadFull(t, first[:]); err != nil {
		return 0, nil, networkError(err)
	}
	switch kind = first[0]; kind {
	case kindCertified:
		return kind, nil, nil
	case kindProved:
		proof = make([]byte, proofLen)
	case kindRejected:
		if _, err := io.ReadFull(t, first[:]); err != nil {
			return 0, nil, networkError(err)
		}
		proof = make([]byte, first[0])
	default:
		return 0, nil, fmt.Errorf("tlsauth: the other side says %02x where its proof should be", kind)
	}
	if _, err := io.ReadFull(t, proof); err != nil {
		return 0, nil, networkError(err)
	}
	if kind == kindRejected {
		return 0, nil, newRejectedError(string(proof), isQuoted)
	}
	return kind, proof, nil
}

// rejectPeer sends the reason of a rejection to the other side, and returns the error.
func rejectPeer(t *tls.Conn, cause error) error {
	reason := untrusted.Truncate(cause.Error(), maxReason)
	_, _ = t.Write(append([]byte{kindRejected, byte(len(reason))}, reason...))
	return fmt.Errorf("tlsauth: %w", cause)
}

// tlsConn is a TLS connection with a Close that does not wait. Close of [tls.Conn] first sends an alert, for up to 5 s.
type tlsConn struct {
	*tls.Conn
	tcp net.Conn
}

func (s tlsConn) Close() error { return s.tcp.Close() }
