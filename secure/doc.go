// Package secure turns a connection into a safe one: nobody else reads or changes what goes over it, and each
// side knows who is at the other end. It is TLS 1.3 of the standard library, and one message each way inside it.
// There are two ways in, of which a cluster chooses one:
//
//   - A shared secret, in a file that all members have. Both ends show a certificate that they have made for
//     themselves, which proves nothing. Inside the channel each proves that it knows the secret: by an HMAC
//     over keying material that TLS derives for that channel alone (RFC 9266, tls-exporter), with its role and
//     the name of the cluster. So what one channel has seen is of no use in another, nor in the other
//     direction. Who has dialled proves first: who listens tells a stranger nothing that depends on the secret.
//   - Certificates of an authority of the cluster's own, one for each member, which say who it is.
//
// What a certificate says is its URI: elect://CLUSTER/member/NAME takes part under that name, elect://CLUSTER/operator
// asks and gives orders, elect://CLUSTER/observer asks. One without such a URI, and with names of DNS, is that of a
// member with one of these names. A host or an address is not compared with anything: a member may move.
//
// The files are looked at again when a connection is made, at most once a second: a secret is rotated, and a
// certificate renewed, without a restart. What stands by then stays as it is, until it ends: who must be kept out at
// once, because it has the old secret, is kept out by a restart of the members. A connection that was made with a
// certificate must end with it: see Identity.Until. The caller sees to that, as package transport does.
//
// Before a peer has proved its identity, it can make an endpoint compute little: at most 16 KiB are read until the end of the
// handshake, at most 4 certificates are accepted, and their signatures are checked from the authority down, so no key is
// used that the authority has not signed. Where a secret counts, other keys are accepted if they are cheap: ECDSA P-256
// and P-384, Ed25519, RSA up to 4096 bits. Errors have none of the words of such a peer.
//
// Whoever holds the secret, or the key of a member, is believed. An Endpoint keeps out others; it does not
// limit what a member does.
package secure
