// The failure detector of docs/protocol.md. All times are in ms of one clock. It leaves out what a member may leave
// out: a timeout that grows, and indirect probes of its own.
import { NO_ID } from './messages.mjs'

const SUBSCRIPTION = 10 // heartbeats
const INSTANT_DIALS = 10 // in a row, after connections that did not last

const never = Infinity

class Peer {
  isMonitored = false
  isSuspected = false
  isConnected = false
  isDead = false // there is evidence other than silence
  incarnation = null
  connectedAt = 0
  deadline = never // of its silence
  subscribeAt = never
  subscription = { interval: 0, end: never, heartbeatAt: never } // that it has sent
  asking = new Set() // members that have sent a probe about it
  dials = 0 // since the last connection
  brokenDials = 0
  briefConnections = 0
  dialAt = never
}

export class Detector {
  peers = new Map()
  digest = 0n
  stall = { length: 0, end: 0 }

  // env has send(id, message), dial(id), suspect(id) and trust(id). Times are those of docs/protocol.md.
  constructor (times, env) { Object.assign(this, { times, env }) }

  peer (id) {
    if (!this.peers.has(id)) this.peers.set(id, new Peer())
    return this.peers.get(id)
  }

  forget (id) { this.peers.delete(id) }

  // monitor replaces the set of members that are monitored.
  monitor (now, ids) {
    for (const [id, p] of this.peers) {
      if (!p.isMonitored || ids.has(id)) continue
      Object.assign(p, { isMonitored: false, isSuspected: false, deadline: never, subscribeAt: never, dialAt: never })
    }
    for (const id of ids) {
      const p = this.peer(id)
      if (p.isMonitored) continue
      p.isMonitored = true
      p.deadline = now + this.times.timeout
      if (p.isDead) {
        this.suspect(id, p)
        this.dialLater(now, p)
      } else if (p.isConnected) this.subscribe(now, id, p)
      else this.dial(id, p)
    }
  }

  up (now, id, incarnation) {
    const p = this.peer(id)
    const hasRestarted = p.incarnation !== null && p.incarnation !== incarnation
    Object.assign(p, { isConnected: true, isDead: false, incarnation, connectedAt: now, dials: 0, dialAt: never })
    if (hasRestarted) {
      p.briefConnections = 0
      p.subscription.end = never
    }
    if (!p.isMonitored) return
    if (hasRestarted && !p.isSuspected) this.suspect(id, p)
    if (p.isSuspected) this.trust(id, p)
    p.deadline = now + this.times.timeout
    this.subscribe(now, id, p)
  }

  down (now, id, isGraceful) {
    const p = this.peer(id)
    p.briefConnections = now - p.connectedAt < this.times.maxRedial ? p.briefConnections + 1 : 0
    Object.assign(p, { isConnected: false, brokenDials: 0, subscribeAt: never, dials: Math.max(0, p.briefConnections - INSTANT_DIALS) })
    p.subscription.end = never
    if (!isGraceful && !p.isDead && p.dials === 0) this.dial(id, p)
    else if (p.isMonitored) this.dialLater(now, p)
  }

  // dialFailed handles the end of a dial: 'refused', 'broken' or 'unanswered'.
  dialFailed (now, id, result) {
    const p = this.peer(id)
    if (p.isConnected) return
    if (result === 'broken' && p.brokenDials < INSTANT_DIALS) {
      p.brokenDials++
      return this.dial(id, p)
    }
    if (result !== 'broken') p.brokenDials = 0
    if (result === 'refused') this.isGone(id, p)
    if (p.isMonitored) this.dialLater(now, p)
  }

  // heard handles a frame of any kind.
  heard (now, id) {
    const p = this.peer(id)
    if (p.isConnected) p.isDead = false
    for (const asking of p.asking) this.env.send(asking, { kind: 'probe-ack', peer: id, digest: this.digest })
    p.asking.clear()
    if (!p.isMonitored || (p.isSuspected && p.isDead)) return
    if (p.isSuspected) this.trust(id, p)
    p.deadline = now + this.times.timeout
    if (p.subscribeAt <= now + this.times.heartbeat) this.subscribe(now, id, p)
  }

  receive (now, id, message) {
    const p = this.peer(id)
    switch (message.kind) {
      case 'subscribe':
        if (message.interval < 1 || message.ttl < message.interval || message.ttl > 3600e3) throw new Error('subscribe out of bounds')
        Object.assign(p.subscription, { interval: message.interval, end: now + message.ttl })
        p.subscription.heartbeatAt = Math.min(p.subscription.heartbeatAt, now + message.interval)
        break
      case 'probe':
        if (message.peer === NO_ID) this.env.send(id, { kind: 'probe-ack', peer: NO_ID, digest: this.digest })
        else if (message.peer !== id && this.peers.get(message.peer)?.isConnected) {
          this.peer(message.peer).asking.add(id)
          this.env.send(message.peer, { kind: 'probe', peer: NO_ID, digest: this.digest })
        }
        break
      case 'goodbye': this.isGone(id, p)
    }
  }

  // sent handles that any other frame went to a peer: it takes the place of a heartbeat.
  sent (now, id) {
    const s = this.peers.get(id)?.subscription
    if (s) s.heartbeatAt = now + s.interval * 1.5
  }

  // wake does what is due. Late is how much later it is called than it should be.
  wake (now, late) {
    if (late > this.times.heartbeat / 2) this.handleStall(now, late)
    for (const [id, p] of this.peers) {
      if (p.deadline <= now) {
        this.suspect(id, p)
        p.subscribeAt = now
      }
      if (p.dialAt <= now) this.dial(id, p)
      if (p.subscribeAt <= now) this.subscribe(now, id, p)
      if (p.subscription.end <= now) p.subscription.end = never
      else if (p.subscription.end !== never && p.subscription.heartbeatAt <= now) this.sendHeartbeat(now, id, p)
    }
  }

  // handleStall tells the subscribers that this process did not run, and suspects no member for that.
  handleStall (now, late) {
    this.stall = { length: late, end: now }
    const { heartbeat, timeout } = this.times
    for (const [id, p] of this.peers) {
      if (p.subscription.end !== never) this.sendHeartbeat(now, id, p)
      if (p.deadline === never) continue
      p.deadline = Math.min(Math.max(p.deadline + late, now + 2 * heartbeat), Math.max(p.deadline, now + timeout))
    }
  }

  sendHeartbeat (now, id, p) {
    const stalledAgo = now - this.stall.end
    const isRecent = this.stall.length > 0 && stalledAgo <= SUBSCRIPTION * this.times.heartbeat
    const stall = isRecent ? { stalled: this.stall.length, stalledAgo } : { stalled: 0, stalledAgo: 0 }
    if (p.isConnected) this.env.send(id, { kind: 'heartbeat', digest: this.digest, ...stall })
    p.subscription.heartbeatAt = now + p.subscription.interval
  }

  subscribe (now, id, p) {
    p.subscribeAt = never
    if (!p.isConnected) return
    const { heartbeat } = this.times
    p.subscribeAt = now + (p.isSuspected ? heartbeat : heartbeat * SUBSCRIPTION / 2)
    this.env.send(id, { kind: 'subscribe', interval: heartbeat, ttl: heartbeat * SUBSCRIPTION, digest: this.digest })
  }

  isGone (id, p) {
    p.isDead = true
    if (p.isMonitored && !p.isSuspected) this.suspect(id, p)
  }

  suspect (id, p) {
    Object.assign(p, { isSuspected: true, deadline: never })
    this.env.suspect(id)
  }

  trust (id, p) {
    p.isSuspected = false
    this.env.trust(id)
  }

  dial (id, p) {
    p.dials++
    p.dialAt = never
    this.env.dial(id)
  }

  dialLater (now, p) {
    const { minRedial, maxRedial } = this.times
    p.dialAt = now + Math.min(minRedial * 2 ** Math.max(0, p.dials - 1), maxRedial)
  }
}
