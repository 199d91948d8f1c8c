// The hashes of docs/protocol.md: digests, the cluster id of a name, and proofs of the secret.
import { createHash, createHmac } from 'node:crypto'

// fnv1a returns the 64-bit FNV-1a hash of bytes, as a BigInt.
export function fnv1a (bytes) {
  let hash = 0xcbf29ce484222325n
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  return hash
}

const atLeastOne = (hash) => hash === 0n ? 1n : hash

// listDigest hashes the addresses of all members, without a quorum.
export function listDigest (addresses) {
  const sorted = [...new Set(addresses)].map((address) => Buffer.from(address)).sort(Buffer.compare)
  return atLeastOne(fnv1a(Buffer.concat(sorted.flatMap((address) => [address, Buffer.of(0)]))))
}

// configDigest hashes a config, with a quorum. The term and the version are BigInts, the cluster is an id.
export function configDigest (committed, cluster, term, version) {
  const bytes = Buffer.alloc(33)
  bytes[0] = committed ? 1 : 0
  Buffer.from(cluster, 'hex').copy(bytes, 1)
  bytes.writeBigUInt64BE(term, 17)
  bytes.writeBigUInt64BE(version, 25)
  return atLeastOne(fnv1a(bytes))
}

// clusterId returns the id that follows from the name of a cluster without a quorum: a UUID of version 5.
export function clusterId (name) {
  const urls = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex')
  const id = createHash('sha1').update(urls).update(`elect:${name}`).digest().subarray(0, 16)
  id[6] = (id[6] & 0x0f) | 0x50
  id[8] = (id[8] & 0x3f) | 0x80
  return id.toString('hex')
}

// cutText cuts settings, or a list, to the length that a hello may carry.
export function cutText (text) {
  const bytes = Buffer.from(text)
  if (bytes.length <= 512) return text
  const end = `\n...=${fnv1a(bytes).toString(36)}`
  return new TextDecoder().decode(bytes.subarray(0, 512 - end.length), { stream: true }) + end
}

// parseSecret returns the 32 bytes of a secret from its text.
export function parseSecret (text) {
  const bytes = Buffer.from(text.replace(/^elect1_/, ''), 'base64url')
  const secret = bytes.subarray(0, 32)
  const sum = createHash('sha256').update(secret).digest().subarray(0, 4)
  if (!text.startsWith('elect1_') || bytes.length !== 36 || !sum.equals(bytes.subarray(32))) throw new Error('secret is damaged')
  return secret
}

// proof returns the proof of a secret. The role is 'client' or 'server'; the material is exported from the channel.
export function proof (secret, role, cluster, material) {
  return createHmac('sha256', secret).update(`elect proof 1\0${role}\0${cluster}\0`).update(material).digest()
}
