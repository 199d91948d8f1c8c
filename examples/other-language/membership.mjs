// The membership without a quorum, as docs/protocol.md says it: the nodes at the addresses of a list. All times are in
// ms of one clock. It takes addresses only, and no names that stand for several; and its list does not change.
import { clusterId, listDigest } from './hashes.mjs'

const FIRST_DIALS = { min: 5, max: 400 }
const RARE_DIAL = 1000

export class Membership {
  version = 1n // of what this node says about itself
  isStarted = false
  peers = new Map() // connected nodes: {incarnation, holds, isIntroduced, isAcknowledged}
  known = new Map() // what nodes have said about themselves: {member, standbyEnd}
  retryAt = Infinity

  // env has send(id, message), reject(id, reason), dial(address) and stop(reason). Self is a member of the protocol.
  constructor (self, cluster, list, times, env) {
    Object.assign(this, { self, cluster, list, times, env })
    this.addresses = list.map((address) => {
      const isOwn = address === self.address
      return { address, peer: isOwn ? self.id : null, state: isOwn ? 'reached' : 'pending', dials: 0, dialAt: isOwn ? Infinity : 0 }
    })
  }

  start (now) {
    this.waitEnd = now + this.times.firstContact
    this.wake(now)
  }

  up (now, id, hello, dialed) {
    this.peers.set(id, { incarnation: hello.incarnation, holds: 0n, isIntroduced: false, isAcknowledged: false })
    this.locate(dialed, id)
    if (this.mayClaim(id, hello)) this.locate(hello.address, id)
    if (!this.isListed(id)) for (const a of this.addresses) if (this.isFree(a)) Object.assign(a, { state: 'pending', dialAt: now })
    this.welcome(now)
  }

  down (id) {
    this.peers.delete(id)
    for (const a of this.addresses) if (a.peer === id && a.state !== 'rejected') a.state = 'pending'
  }

  // mayClaim reports whether a peer may take the address of its hello: no node is connected there, or an earlier
  // incarnation.
  mayClaim (id, hello) {
    return !this.addresses.some((a) => a.address === hello.address && (a.peer === this.self.id ||
      (a.peer !== id && this.peers.get(a.peer)?.incarnation >= hello.incarnation)))
  }

  locate (address, id) {
    for (const a of this.addresses) {
      if (a.address !== address) continue
      a.peer = id
      if (a.state !== 'rejected') Object.assign(a, { state: 'reached', dials: 0 })
    }
  }

  dialEnded (now, address, result) {
    for (const a of this.addresses) if (a.address === address && a.state !== 'rejected') a.state = result
    this.welcome(now)
  }

  // welcome introduces this node to each peer at a listed address, and rejects the others when no listed address may
  // still lead to them.
  welcome (now) {
    const mayBeListed = this.addresses.some((a) => this.isFree(a) && a.state === 'pending')
    for (const [id, p] of this.peers) {
      if (this.isListed(id)) {
        if (!p.isIntroduced) this.sendSelf(now, id)
      } else if (!mayBeListed) {
        this.env.send(id, { kind: 'join-rejected', reason: 'not in the list of members', holds: this.holds() })
        this.env.reject(id, 'not in the list of members')
      }
    }
  }

  sendSelf (now, id) {
    this.peers.get(id).isIntroduced = true
    this.env.send(id, { kind: 'self', member: this.self, holds: this.holds(), standby: 0, bootstraps: false })
    this.retryAt = Math.min(this.retryAt, now + this.times.repeat)
  }

  // receive handles a message, and reports whether it is one of the membership.
  receive (now, from, message) {
    const p = this.peers.get(from)
    switch (message.kind) {
      case 'self': this.handleSelf(now, from, p, message); return true
      case 'config-ack':
        if (message.holds.version === this.version) p.isAcknowledged = true
        return true
      case 'join-rejected': this.handleRejection(from, p, message); return true
    }
    return false
  }

  handleSelf (now, from, p, { member, holds, standby }) {
    if (member.id !== from) throw new Error('self has another id than its sender')
    const isOlder = holds.version < p.holds
    if (!isOlder) p.holds = holds.version
    this.env.send(from, { kind: 'config-ack', holds: { term: 0n, version: p.holds } })
    if (isOlder) return
    this.known.set(from, { member, standbyEnd: standby > 0 ? now + standby : 0 })
    for (const a of this.addresses) {
      if (a.peer !== from) continue
      if (a.state === 'rejected') this.sendSelf(now, from)
      a.state = 'reached'
    }
  }

  handleRejection (from, p, { reason, holds }) {
    if (holds.version < p.holds) return
    p.holds = holds.version
    for (const a of this.addresses) if (a.peer === from) a.state = 'rejected'
    const isAccepted = [...this.peers.keys()].some((id) => this.addresses.some((a) => a.peer === id && a.state === 'reached'))
    if (this.isStarted && !isAccepted) this.env.stop(`rejected: ${reason}`)
  }

  wake (now) {
    for (const a of this.addresses) {
      if (a.dialAt > now) continue
      a.dialAt = now + (this.isStarted ? RARE_DIAL : Math.min(FIRST_DIALS.min * 2 ** a.dials, FIRST_DIALS.max))
      if (!this.isFree(a)) continue
      a.dials++
      this.env.dial(a.address)
    }
    if (this.retryAt <= now) {
      this.retryAt = Infinity
      for (const [id, p] of this.peers) if (p.isIntroduced && !p.isAcknowledged) this.sendSelf(now, id)
    }
  }

  // mayStart reports whether the algorithm may start, or runs already.
  mayStart (now) {
    const isReady = (a) => a.peer === this.self.id || a.state === 'refused' || now >= this.waitEnd ||
      (this.peers.has(a.peer) && this.known.has(a.peer))
    this.isStarted ||= this.addresses.every((a) => a.state !== 'rejected' && isReady(a))
    return this.isStarted
  }

  // members returns the view of the algorithm: this node, and the nodes at listed addresses that have introduced
  // themselves.
  members (now) {
    const view = new Map([[this.self.id, { ...this.self, eligible: !this.self.witness }]])
    for (const { peer, address, state } of this.addresses) {
      const known = this.known.get(peer)
      if (!known || state === 'rejected' || peer === this.self.id) continue
      view.set(peer, { ...known.member, address, eligible: !known.member.witness && known.standbyEnd <= now })
    }
    return view
  }

  handleDigest () {} // it is only logged
  clusterId () { return clusterId(this.cluster) }
  configId () { return { term: 0n, version: 0n } }
  digest () { return listDigest(this.list) }
  holds () { return { term: 0n, version: this.version } }
  isListed (id) { return this.addresses.some((a) => a.peer === id) }
  isFree (a) { return a.peer !== this.self.id && !this.peers.has(a.peer) }
}
