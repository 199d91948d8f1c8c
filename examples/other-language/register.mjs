// The membership with a quorum, as docs/protocol.md says it: a config that leaders write. All times are in ms of one
// clock. This member joins, adopts, acknowledges and passes on configs. While it leads it writes the present members
// with its own term, and changes no member: a change waits for another leader.
import { configDigest } from './hashes.mjs'
import { NO_ID } from './messages.mjs'

const FIRST_DIALS = { min: 5, max: 400 }

const blank = { cluster: NO_ID, id: { term: 0n, version: 0n }, author: NO_ID, members: [], expired: [] }
const compare = (a, b) => a.term !== b.term ? (a.term < b.term ? -1 : 1) : a.version < b.version ? -1 : a.version > b.version ? 1 : 0

export class Register {
  // Saved before a message leaves that depends on it.
  record = { config: blank, isCommitted: false, wasMember: false }

  peers = new Map() // connected nodes: {sent, sentAt}
  standbyEnds = new Map()
  acks = new Set()
  retryAt = Infinity

  // env has send(id, message), reject(id, reason), dial(address), stop(reason) and leadership(), which returns whether
  // this member leads, the epoch of its leader, and the highest in which it takes part. Seeds are addresses of members.
  constructor (self, seeds, times, env) {
    Object.assign(this, { self, times, env })
    this.seeds = seeds.map((address) => ({ address, peer: null, dials: 0, dialAt: 0 }))
  }

  start (now) {
    this.retryAt = now
    this.wake(now)
  }

  up (now, id, hello, dialed) {
    this.locate(dialed, id)
    this.peers.set(id, {})
    this.standbyEnds.delete(id)
    this.sendSelf(id)
    this.handleDigest(now, id, hello.digest)
  }

  down (id) { this.peers.delete(id) }
  dialEnded () {}
  locate (address, id) { for (const s of this.seeds) if (s.address === address) Object.assign(s, { peer: id, dials: 0 }) }

  handleDigest (now, id, digest) { if (digest !== this.digest()) this.sendConfig(now, id) }

  receive (now, from, message) {
    const { config } = this.record
    switch (message.kind) {
      case 'config': this.handleConfig(now, from, message); return true
      case 'self':
        if (message.member.id !== from) throw new Error('self has another id than its sender')
        if (message.standby > 0) this.standbyEnds.set(from, now + message.standby)
        else this.standbyEnds.delete(from)
        if (compare(message.holds, config.id) !== 0) this.sendConfig(now, from)
        return true
      case 'config-ack':
        if (compare(message.holds, config.id) === 0 && this.has(from)) this.acks.add(from)
        this.commitIfHeld(now)
        return true
      case 'join-rejected':
        if (!this.isVoter()) this.env.stop(`cannot join: ${message.reason}`)
        return true
      case 'remove-request': case 'bootstrap-request': case 'bootstrap-reply': return true // for a leader, and for a bootstrap
    }
    return false
  }

  handleConfig (now, from, { config, committed }) {
    const mine = this.record.config
    if (!this.isBlank() && config.cluster !== mine.cluster) return this.env.reject(from, 'another cluster')
    const order = compare(config.id, mine.id)
    if (order < 0) return this.sendConfig(now, from)
    if (order === 0) {
      if (committed && !this.record.isCommitted) this.commit(now)
      return this.sendAck()
    }
    const { leads, epoch } = this.env.leadership()
    if (leads && config.id.term <= epoch) return this.write(now) // R7
    const lists = config.members.some(({ id }) => id === this.self.id)
    if (this.isBlank() && config.id.term === 0n && !committed) return // it does not take part in a bootstrap
    if (this.isVoter() && !lists && !committed) return // R11
    const wasVoter = this.isVoter()
    this.hold(now, config)
    if (this.record.wasMember && !lists) return this.env.stop('removed from the cluster')
    if (committed) this.commit(now)
    if (!lists) for (const id of new Set([from, config.author])) this.sendSelf(id)
    this.sendAck()
    if (lists && !wasVoter) for (const id of this.peers.keys()) if (id !== from && this.has(id)) this.sendConfig(now, id)
  }

  hold (now, config) {
    this.record = { ...this.record, config, isCommitted: false }
    this.acks.clear()
    this.retryAt = now
  }

  commit (now) {
    this.record = { ...this.record, isCommitted: true, wasMember: this.record.wasMember || this.isVoter() }
    this.retryAt = now
  }

  sendAck () {
    const { config, isCommitted } = this.record
    const isInTerm = this.env.leadership().taken <= config.id.term // R4
    if (!isCommitted && this.isVoter() && isInTerm && config.author !== this.self.id) {
      this.env.send(config.author, { kind: 'config-ack', holds: config.id })
    }
  }

  // write writes the present members with the term of this leader (R6).
  write (now) {
    const { config } = this.record
    const id = { term: this.env.leadership().epoch, version: config.id.version + 1n }
    this.hold(now, { ...config, id, author: this.self.id })
    this.commitIfHeld(now)
    this.sendConfigToAll(now)
  }

  commitIfHeld (now) {
    const { config, isCommitted } = this.record
    const { leads, epoch } = this.env.leadership()
    const isHeld = 1 + this.acks.size >= Math.floor(config.members.length / 2) + 1
    if (isCommitted || !isHeld || !leads || config.id.term !== epoch) return
    this.commit(now)
    this.sendConfigToAll(now)
  }

  sendSelf (id) {
    if (!this.peers.has(id)) return
    this.env.send(id, { kind: 'self', member: this.self, holds: this.record.config.id, standby: 0, bootstraps: false })
  }

  // sendConfig sends the config, the same to one peer at most once in the time of a repeat.
  sendConfig (now, id) {
    const peer = this.peers.get(id)
    if (!peer || this.isBlank() || (peer.sent === this.record && now - peer.sentAt < this.times.repeat)) return
    Object.assign(peer, { sent: this.record, sentAt: now })
    this.env.send(id, { kind: 'config', config: this.record.config, committed: this.record.isCommitted })
  }

  sendConfigToAll (now) { for (const id of this.peers.keys()) this.sendConfig(now, id) }

  wake (now) {
    const isConnected = this.isVoter() && this.record.config.members.every(({ id }) => id === this.self.id || this.peers.has(id))
    for (const s of this.seeds) {
      if (s.dialAt > now || isConnected || this.peers.has(s.peer)) continue
      s.dialAt = now + (this.isVoter() ? 1000 : Math.min(FIRST_DIALS.min * 2 ** s.dials++, FIRST_DIALS.max))
      this.env.dial(s.address)
    }
    const { leads, epoch } = this.env.leadership()
    const { config, isCommitted } = this.record
    if (leads && !isCommitted && config.id.term < epoch) this.write(now)
    if (this.retryAt > now) return
    this.retryAt = now + this.times.repeat
    if (!this.isVoter()) {
      for (const { id, address } of config.members) if (!this.peers.has(id)) this.env.dial(address)
      for (const id of this.peers.keys()) this.sendSelf(id)
    } else if (leads && !isCommitted) this.sendConfigToAll(now)
    else this.retryAt = Infinity
  }

  mayStart () { return this.isVoter() }

  members (now) {
    const isStandby = (id) => (this.standbyEnds.get(id) ?? 0) > now
    return new Map(this.record.config.members.map((m) => [m.id, { ...m, eligible: !m.witness && !isStandby(m.id) }]))
  }

  configId () { return this.record.config.id }
  clusterId () { return this.record.config.cluster }
  digest () {
    const { config, isCommitted } = this.record
    return this.isBlank() ? 0n : configDigest(isCommitted, config.cluster, config.id.term, config.id.version)
  }

  has (id) { return this.record.config.members.some((m) => m.id === id) }
  isBlank () { return this.record.config.cluster === NO_ID }
  isVoter () { return this.has(this.self.id) }
}
