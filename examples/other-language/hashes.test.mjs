// Recomputes the examples of docs/protocol.md, and decodes and encodes its messages.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { clusterId, configDigest, cutText, fnv1a, listDigest, parseSecret, proof } from './hashes.mjs'
import { decodeMessage, encodeMessage, frame, FrameReader } from './messages.mjs'

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')

// example returns the fields of an example of the page: lines of a key and a value.
function example (name) {
  const block = page.split(`<!-- example: ${name} -->\n`)[1].match(/^( {4}.*\n)+/)[0]
  return Object.fromEntries(block.trimEnd().split('\n').map((line) => line.trim().match(/^(\S+)\s*(.*)$/).slice(1)))
}

const hex = (hash) => hash.toString(16).padStart(16, '0')

test('list digest', () => {
  const { members, digest } = example('list digest')
  assert.equal(hex(listDigest(members.split(' '))), digest)
})

test('config digest', () => {
  const { committed, cluster, term, version, digest } = example('config digest')
  assert.equal(hex(configDigest(committed === 'true', cluster, BigInt(term), BigInt(version))), digest)
})

test('cluster id', () => {
  const { cluster, id } = example('cluster id')
  assert.equal(clusterId(cluster), id)
})

test('cut text', () => {
  const { letters, hash, kept, end } = example('cut text')
  const text = 'a'.repeat(letters)
  assert.equal(hex(fnv1a(Buffer.from(text))), hash)
  assert.equal(cutText(text), `${'a'.repeat(kept)}\n${end}`)
})

test('proof of the secret', () => {
  const { secret, text, material, cluster, client, server } = example('proof')
  assert.equal(parseSecret(text).toString('hex'), secret)
  for (const [role, want] of Object.entries({ client, server })) {
    assert.equal(proof(parseSecret(text), role, cluster, Buffer.from(material, 'hex')).toString('hex'), want)
  }
  assert.throws(() => parseSecret(text.replace('AAEC', 'AAED')))
})

const kinds = [
  'hello', 'subscribe', 'heartbeat', 'probe', 'probe-ack', 'self', 'config', 'config-ack', 'join-rejected', 'remove-request', 'bootstrap-request',
  'bootstrap-reply', 'goodbye', 'election', 'answer', 'coordinator', 'inquiry', 'lease/request', 'lease/reply', 'lease/release', 'lease/withdraw'
]
for (const kind of kinds) {
  test(`message ${kind}`, () => {
    const lines = page.split(`<!-- decode: ${kind.replace('/', '-')} -->\n\`\`\`hex\n`)[1].split('```')[0]
    const bytes = Buffer.from(lines.replace(/#.*/g, '').replace(/\s/g, ''), 'hex')
    const reader = new FrameReader()
    reader.push(bytes.subarray(0, 5)) // a frame may come in pieces
    assert.equal(reader.next(), undefined)
    reader.push(bytes.subarray(5))
    const message = decodeMessage(reader.next())
    assert.equal(message.kind, kind)
    assert.deepEqual(frame(encodeMessage(message)), bytes)
  })
}
