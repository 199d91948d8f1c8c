// Messages and frames of docs/protocol.md. A decoded message is an object with its kind and its fields by name.
// An id is a string of 32 hexadecimal digits, which compare as the bytes do. Durations are in milliseconds.
import { decode, encode } from '@msgpack/msgpack'

const NANOSECONDS = 1e6 // in a millisecond

// The types of fields: how a value looks in msgpack, and here. Integers of 64 bits are BigInts here.
const uint64 = { out: (v) => v < 2n ** 32n ? Number(v) : v, in: (v) => BigInt(integer(v)) }
const int = { out: (v) => v, in: (v) => Number(integer(v)) }
const duration = { out: (v) => uint64.out(BigInt(Math.round(v * NANOSECONDS))), in: (v) => Number(integer(v)) / NANOSECONDS }
const bool = { out: (v) => v, in: (v) => need(typeof v === 'boolean', v) }
const string = { out: (v) => v, in: (v) => need(typeof v === 'string', v) }
const id = {
  out: (v) => Buffer.from(v, 'hex'),
  in: (v) => Buffer.from(need(v instanceof Uint8Array && v.length === 16, v)).toString('hex')
}
const struct = (fields) => ({
  out: (v) => Object.entries(fields).map(([name, type]) => type.out(v[name])),
  in: (v) => readFields(fields, need(Array.isArray(v), v))
})

const configId = struct({ term: uint64, version: uint64 })
const member = struct({ id, name: string, address: string, priority: int, witness: bool })
const list = (type) => ({
  out: (v) => v.map(type.out),
  in: (v) => need(Array.isArray(v) && v.length <= 512, v).map(type.in)
})
const config = struct({ cluster: id, id: configId, author: id, members: list(member), expired: list(id) })

const kinds = {
  hello: {
    minVersion: int, maxVersion: int, cluster: string, clusterId: id, algorithm: string, settings: string, name: string, id,
    incarnation: uint64, client: bool, address: string, digest: uint64, members: string, uptime: duration, metadata: string
  },
  subscribe: { interval: duration, ttl: duration, digest: uint64 },
  heartbeat: { digest: uint64, stalled: duration, stalledAgo: duration },
  probe: { peer: id, digest: uint64 },
  'probe-ack': { peer: id, digest: uint64 },
  self: { member, holds: configId, standby: duration, bootstraps: bool },
  config: { config, committed: bool },
  'config-ack': { holds: configId },
  'join-rejected': { reason: string, holds: configId },
  'remove-request': { id },
  'bootstrap-request': {},
  'bootstrap-reply': { member },
  goodbye: {},
  election: { epoch: uint64 },
  answer: { epoch: uint64 },
  coordinator: { epoch: uint64, leader: id },
  inquiry: {},
  'lease/request': { ballot: uint64, round: uint64, configId, duration, leading: bool, quorumReachable: bool, again: bool },
  'lease/reply': { ballot: uint64, round: uint64, granted: bool, highestBallot: uint64 },
  'lease/release': { ballot: uint64 },
  'lease/withdraw': { id, seq: uint64, cancelled: bool }
}

export const NO_ID = '0'.repeat(32)
const MAX_EPOCH = 2n ** 63n - 1n

function need (holds, value) {
  if (!holds) throw new Error(`unexpected value ${String(value)}`)
  return value
}
const integer = (v) => need(typeof v === 'bigint' || Number.isInteger(v), v)

// readFields reads the known fields of a message or a struct. Another version may have added fields at the end.
function readFields (fields, values) {
  const entries = Object.entries(fields)
  need(values.length >= entries.length, `array of ${values.length}, want ${entries.length}`)
  return Object.fromEntries(entries.map(([name, type], i) => [name, type.in(values[i])]))
}

// encodeMessage returns the payload of a message. Repeat marks one that was sent before.
export function encodeMessage ({ kind, ...fields }, repeat = false) {
  return encode([kind + (repeat ? '+' : ''), ...struct(kinds[kind]).out(fields)], { useBigInt64: true })
}

export function decodeMessage (payload) {
  const values = decode(payload, { useBigInt64: true })
  const kind = string.in(need(Array.isArray(values), values)[0]).replace(/\+$/, '')
  need(Object.hasOwn(kinds, kind), kind)
  const message = { kind, ...readFields(kinds[kind], values.slice(1)) }
  for (const epoch of [message.epoch, message.ballot, message.highestBallot]) need(epoch === undefined || epoch <= MAX_EPOCH, epoch)
  return message
}

// frame returns a payload with its length before it.
export function frame (payload) {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(payload.length)
  return Buffer.concat([length, payload])
}

// FrameReader cuts what a connection brings into payloads.
export class FrameReader {
  buffered = Buffer.alloc(0)
  limit = 3 << 10 // until both sides have said hello

  push (bytes) { this.buffered = Buffer.concat([this.buffered, bytes]) }

  // next returns the next payload, or undefined if it is not complete.
  next () {
    if (this.buffered.length < 4) return undefined
    const length = this.buffered.readUInt32BE()
    need(length > 0 && length <= this.limit, `frame of ${length} bytes`)
    if (this.buffered.length < 4 + length) return undefined
    const payload = this.buffered.subarray(4, 4 + length)
    this.buffered = this.buffered.subarray(4 + length)
    return payload
  }
}
