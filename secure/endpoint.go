package secure

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
	"github.com/elect-go/elect/internal/hostile"
)

// Config says by which files an endpoint proves who it is, and knows others. There is a secret, or a certificate; or
// both, while a cluster goes from the one to the other: see Migrate.
type Config struct {
	// Cluster is its name. Who only asks may leave it empty: any, or the one that the certificate names.
	Cluster string
	// Member is the name of this one, which its certificate must allow. Empty: it only asks.
	Member string
	// SecretFile holds one or more secrets of NewSecret, one on a line. The first is used, all are believed.
	SecretFile string
	// TLS are the files of a certificate.
	TLS Certificate
	// Migrate lets in, beside the ways that are configured, who comes by the one before: plain text where there is
	// one way. With two ways plain text stays out.
	Migrate bool
	// Log is told of files that were read anew, or cannot be: none.
	Log *slog.Logger
}

// Certificate names files in PEM: all three, or none.
type Certificate struct {
	Cert string // names this member: elect://CLUSTER/member/NAME; a renewed one is taken over
	Key  string // its key, which nobody else can read
	CA   string // authority that has signed the certificates of all members
}

// Endpoint makes the connections of a node or of a client safe. It may be used by many goroutines.
type Endpoint struct{ files files }

// New reads the files. Its error says all that is wrong, each as an [*algo.SettingError].
func New(c Config) (*Endpoint, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	none := c.TLS == Certificate{}
	switch {
	case !none && (c.TLS.Cert == "" || c.TLS.Key == "" || c.TLS.CA == ""):
		return nil, &algo.SettingError{Field: "tls", Got: "not whole", Want: "all of cert, key and ca"}
	case none && c.SecretFile == "":
		return nil, &algo.SettingError{Field: "secret_file", Got: "empty", Want: "a file, or tls"}
	case !none && c.SecretFile != "" && !c.Migrate:
		return nil, &algo.SettingError{Field: "tls", Got: "set beside secret_file", Want: "one of the two, or security: migrate while a cluster goes from the one to the other"}
	}
	e := &Endpoint{files: files{Config: c}}
	return e, e.files.open()
}

// Self is who this endpoint is by its certificate; Nobody without one.
func (e *Endpoint) Self() Identity { return e.files.now().self }

// ErrPlain says that the other side speaks plain text.
var ErrPlain = errors.New("secure: plain text instead of TLS")

// RefusedError is why who was dialled does not believe this side.
type RefusedError struct{ Reason string } // in its words

func (e *RefusedError) Error() string { return "secure: refused by the other side: " + e.Reason }

// What one side says inside the channel: that of who has dialled is the first byte and, with
// proved, a proof. The answer is the same, or refused and a text with its length in a byte.
const (
	refused   = 0
	certified = 1 // the certificate says it all
	proved    = 2
)

const (
	protocol  = "elect"
	handshake = 0x16 // the first byte of TLS
	proofLen  = 32
	maxReason = 255
)

// Client makes a connection safe that this side has dialled, before anything else goes over it, and says who
// was dialled: a member, or a holder of the secret. The caller sets a deadline, and closes nc after an error. A
// *RefusedError is the word of the other side; ErrPlain is in the error where that knows no TLS. What the network
// has said is in it as well, as io.EOF.
func (e *Endpoint) Client(nc net.Conn) (net.Conn, Identity, error) {
	k, begun := e.files.now(), newLimited(nc)
	t, material, err := open(tls.Client(begun, k.config()))
	if err != nil {
		return nil, Identity{}, err
	}
	chain, cluster := t.ConnectionState().PeerCertificates, cmp.Or(e.files.Cluster, k.self.Cluster)
	id, doubt := k.identify(chain, x509.ExtKeyUsageServerAuth, cluster)
	if doubt == nil && id.Role != Member {
		doubt = fmt.Errorf("certificate %s: it is not that of a member", titleOf(chain[0]))
	}
	if doubt != nil && len(k.secrets) == 0 {
		return nil, Identity{}, refuse(t, doubt)
	}
	said := []byte{certified}
	if len(k.secrets) > 0 {
		said = append([]byte{proved}, k.secrets[0].proof(client, e.files.Cluster, material)...)
	}
	if _, err := t.Write(said); err != nil {
		return nil, Identity{}, failed(err)
	}
	answer, proof, err := hear(t, doubt == nil)
	switch {
	case err != nil:
		return nil, Identity{}, err
	case answer == proved && len(k.secrets) > 0 && k.secrets[0].proves(proof, server, e.files.Cluster, material):
		id = Identity{Cluster: cluster, Role: Holder, Names: id.Names}
	case doubt != nil:
		return nil, Identity{}, fmt.Errorf("secure: %w", doubt)
	}
	begun.unlimit()
	return safe{t, nc}, id, nil
}

// Server makes a connection safe that was accepted, and says who has dialled. Until that is proved nothing
// is sent that depends on a secret. The caller sets a deadline, and closes nc after an error. ErrPlain says that TLS is
// not spoken there; with Config.Migrate, and one way in, the connection is returned as it is, and Nobody; without, it is returned beside the error, for that to be said.
func (e *Endpoint) Server(nc net.Conn) (net.Conn, Identity, error) {
	var first [1]byte
	begun := newLimited(nc)
	if _, err := io.ReadFull(begun, first[:]); err != nil {
		return nil, Identity{}, failed(err)
	}
	k := e.files.now()
	begun.first = first[:]
	if first[0] != handshake {
		begun.unlimit()
		if !e.files.Migrate || len(k.secrets) > 0 && k.authority != nil {
			return begun, Identity{}, fmt.Errorf("%w: this cluster is closed, and wants %s", ErrPlain, k.wanted())
		}
		return begun, Identity{}, nil
	}
	t, material, err := open(tls.Server(begun, k.config()))
	if err != nil {
		return nil, Identity{}, err
	}
	id, doubt := k.identify(t.ConnectionState().PeerCertificates, x509.ExtKeyUsageClientAuth, e.files.Cluster)
	said, proof, err := hear(t, doubt == nil)
	if err != nil {
		return nil, Identity{}, err
	}
	answer := []byte{certified}
	if said == proved {
		for _, s := range k.secrets {
			for _, cluster := range []string{e.files.Cluster, ""} {
				if !s.proves(proof, client, cluster, material) {
					continue
				}
				if answer = append([]byte{proved}, s.proof(server, cluster, material)...); cluster == "" {
					id = Identity{Cluster: e.files.Cluster, Role: Operator}
				} else {
					id = Identity{Cluster: cluster, Role: Holder, Names: id.Names}
				}
				doubt = nil
			}
		}
	}
	if doubt != nil {
		return nil, Identity{}, refuse(t, doubt)
	}
	if _, err := t.Write(answer); err != nil {
		return nil, Identity{}, failed(err)
	}
	begun.unlimit()
	return safe{t, nc}, id, nil
}

// config is the channel: who is there is found out inside it.
func (k keys) config() *tls.Config {
	return &tls.Config{
		VerifyConnection: func(state tls.ConnectionState) error { return k.checkChain(state.PeerCertificates) },
		// Without this list the dialer could choose a curve that costs the listener ten times as much.
		CurvePreferences: []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256},
		MinVersion:       tls.VersionTLS13, NextProtos: []string{protocol}, Certificates: []tls.Certificate{k.own},
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // identify looks at the certificates, and not for a host
		SessionTicketsDisabled: true, // each channel is looked at
	}
}

// wanted says how somebody comes in, for who tries without.
func (k keys) wanted() string {
	if k.authority != nil {
		return "a certificate of its authority (tls: {cert: FILE, key: FILE, ca: FILE})"
	}
	return "the shared secret (--secret-file FILE, ELECT_SECRET_FILE, or secret_file: FILE)"
}

// identify is who shows these certificates, if there is an authority to ask.
func (k keys) identify(chain []*x509.Certificate, usage x509.ExtKeyUsage, cluster string) (Identity, error) {
	if k.authority == nil {
		return Identity{}, errors.New(noSecret)
	}
	return verify(chain, k.authority, k.roots, usage, cluster)
}

// open makes the channel, and derives what is of this channel alone: RFC 9266, tls-exporter.
func open(t *tls.Conn) (_ *tls.Conn, material []byte, err error) {
	if err := t.Handshake(); err != nil {
		if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
			return nil, nil, fmt.Errorf("%w: %w", ErrPlain, err)
		}
		return nil, nil, failed(err)
	}
	state := t.ConnectionState()
	if state.NegotiatedProtocol != protocol {
		return nil, nil, errors.New("secure: the other side is no node of elect")
	}
	material, err = state.ExportKeyingMaterial("EXPORTER-Channel-Binding", nil, proofLen)
	return t, material, err
}

// hear reads what the other side says inside the channel. Its reason is quoted if it has proved its identity.
func hear(t *tls.Conn, quoted bool) (said byte, proof []byte, err error) {
	var head [1]byte
	if _, err := io.ReadFull(t, head[:]); err != nil {
		return 0, nil, failed(err)
	}
	switch said = head[0]; said {
	case certified:
		return said, nil, nil
	case proved:
		proof = make([]byte, proofLen)
	case refused:
		if _, err := io.ReadFull(t, head[:]); err != nil {
			return 0, nil, failed(err)
		}
		proof = make([]byte, head[0])
	default:
		return 0, nil, fmt.Errorf("secure: the other side says %02x where its proof should be", said)
	}
	if _, err := io.ReadFull(t, proof); err != nil {
		return 0, nil, failed(err)
	}
	if said == refused {
		return 0, nil, rejection(string(proof), quoted)
	}
	return said, proof, nil
}

// refuse tells the other side why it is not believed.
func refuse(t *tls.Conn, doubt error) error {
	reason := hostile.Cut(doubt.Error(), maxReason)
	_, _ = t.Write(append([]byte{refused, byte(len(reason))}, reason...))
	return fmt.Errorf("secure: %w", doubt)
}

// safe is a connection over TLS whose Close does not wait: that of TLS says goodbye first, for up to 5 s.
type safe struct {
	*tls.Conn
	below net.Conn
}

func (s safe) Close() error { return s.below.Close() }
