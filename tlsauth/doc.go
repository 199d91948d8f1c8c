// Package tlsauth authenticates and encrypts connections: each side learns the identity of the other end, and no third
// party can read or change the data. It uses TLS 1.3 of the standard library, and one message in each direction inside
// of it.
//
//	e, err := tlsauth.New(tlsauth.Config{Cluster: "demo", SecretFile: "/etc/elect/secret"})
//	conn, peer, err := e.Server(accepted) // on the side that accepts
//	conn, peer, err := e.Client(dialed)   // on the side that dials
//
// A cluster chooses one of two ways:
//
//   - A shared secret, in a file that all members have. Both ends use self-signed certificates, which prove nothing.
//     Inside the channel, each side proves that it knows the secret: by an HMAC over keying material that TLS derives
//     for this channel alone (RFC 9266, tls-exporter), with its role and the name of the cluster. So a proof is
//     useless in another channel, and in the other direction. The dialer sends its proof first, so the listener
//     reveals nothing derived from the secret to an unauthenticated peer.
//   - Certificates of the cluster's own authority, one for each member, which name their holder.
//
// A certificate names its holder with a URI: elect://CLUSTER/member/NAME may be a member with that name,
// elect://CLUSTER/operator may query and administer the cluster, elect://CLUSTER/observer may query it. A certificate
// without such a URI, but with DNS names, belongs to a member with one of these names. Hosts and addresses are not
// compared with anything, because a member may move.
//
// The files are checked again when a connection is made, at most once per second. So a secret is rotated, and a
// certificate renewed, without a restart. The caller must end a connection when its certificate ends, as package
// transport does: see [Identity].Until. It should also end a connection that was made with credentials that have been
// replaced since: see [Endpoint.Version] and [Endpoint.Check].
//
// An [HTTPS] does the same for an HTTP server: it accepts the certificates of the cluster, or of another authority.
//
// Guarantees: an endpoint rejects a peer that has neither the secret nor the key of a certificate.
//
// Non-guarantees: an endpoint does not limit what an authenticated member does, and a stolen secret or key is
// accepted.
//
// Cost: a peer without credentials can cause little work. An endpoint reads at most 16 KiB until the end of the
// handshake, and accepts at most 4 certificates. It checks their signatures from the authority down, so it uses no
// key that the authority has not signed. Where a secret suffices, it accepts other keys if they are cheap: ECDSA
// P-256 and P-384, Ed25519, and RSA up to 4096 bits. Errors do not quote such a peer.
package tlsauth
