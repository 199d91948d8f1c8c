// A member of a cluster: it connects the parts. An event is handled to its end before the next one, and what must be
// saved is saved before a message leaves.
import { randomBytes, randomUUID } from 'node:crypto'
import { Bully, defaultTimes } from './bully.mjs'
import { Connections } from './connections.mjs'
import { Detector } from './detector.mjs'
import { cutText } from './hashes.mjs'
import { Lease, leaseTimes } from './lease.mjs'
import { Membership } from './membership.mjs'
import { Register } from './register.mjs'
import { Store } from './store.mjs'

const TICK = 10 // ms between two looks at what is due

const base = { minRedial: 10, maxRedial: 1000 }
export const presets = {
  local: { ...base, heartbeat: 20, timeout: 150, roundTrip: 50, firstContact: 300 },
  lan: { ...base, heartbeat: 120, timeout: 380, roundTrip: 200, firstContact: 760 },
  wan: { ...base, heartbeat: 500, timeout: 3000, roundTrip: 1000, firstContact: 6000 }
}

const DETECTOR_KINDS = ['subscribe', 'heartbeat', 'probe', 'probe-ack', 'goodbye']

export class Member {
  links = new Map() // what is kept of connected nodes: {incarnation, subscribe, early}
  timers = new Map()
  monitored = new Set()
  view = new Map()
  config = { term: 0n, version: 0n } // of the view
  suspicions = [] // changes that the algorithm has not handled yet
  events = [] // not handled yet
  outbox = [] // messages of the event that is handled
  isRunning = false

  // With members it is one of a list, without a lease. With join, seeds, it joins a cluster with a lease, and keeps its
  // state in a folder. onLeader is called with the name of each new leader, or null, and its epoch; onStop with a
  // reason.
  constructor ({ name, cluster, listen, members, join, folder, priority, preset, secure, onLeader, onStop }) {
    const times = { ...presets[preset], repeat: defaultTimes(presets[preset]).announce }
    const bullyTimes = defaultTimes(times)
    this.store = join && new Store(folder)
    this.saved = this.store?.load() ?? { id: randomUUID().replaceAll('-', ''), starts: Math.floor(Date.now() / 1000) }
    this.saved.starts++
    const { id, starts } = this.saved
    this.self = { id, name, address: listen, priority, witness: false }
    Object.assign(this, { onLeader, listen, started: performance.now() })
    this.helloBase = {
      kind: 'hello', minVersion: 1, maxVersion: 1, cluster, algorithm: join ? 'bully+lease' : 'bully',
      settings: settingsText(bullyTimes, join && leaseTimes[preset]), name, id,
      incarnation: (BigInt(starts) << 32n) | BigInt(randomBytes(4).readUInt32BE()), client: false, address: listen,
      members: members ? cutText(`[${[...members].sort().join(', ')}]`) : '', metadata: ''
    }
    this.connections = new Connections({ hello: () => this.hello(), handlers: this.handlers(), secure })
    const send = (to, message, repeat) => this.send(to, message, repeat)
    this.detector = new Detector(times, {
      send,
      dial: (id) => this.connections.dial(id, this.view.get(id)?.address),
      suspect: (id) => this.suspicions.push([id, 'suspect']),
      trust: (id) => this.suspicions.push([id, 'trust'])
    })
    const membershipEnv = {
      send,
      reject: (id, reason) => this.connections.reject(id, reason),
      dial: (address) => this.connections.dial(null, address),
      stop: onStop,
      leadership: () => {
        const { leader, ballot } = this.algorithm
        return { leads: this.isRunning && leader.id === id && leader.epoch === ballot, epoch: leader.epoch, taken: ballot }
      }
    }
    this.membership = join
      ? new Register(this.self, join, times, membershipEnv)
      : new Membership(this.self, cluster, members, times, membershipEnv)
    if (this.saved.record) this.membership.record = this.saved.record
    const algorithmEnv = {
      send,
      now: () => performance.now(),
      setTimer: (timer, ms) => this.setTimer(timer, ms),
      stopTimer: (timer) => this.stopTimer(timer),
      monitor: (ids) => this.monitor(ids),
      announce: ({ id, epoch }) => this.onLeader(id && this.view.get(id).name, epoch)
    }
    const { roundTrip } = times
    this.algorithm = join
      ? new Lease(id, { ...bullyTimes, ...leaseTimes[preset], roundTrip }, algorithmEnv)
      : new Bully(id, bullyTimes, algorithmEnv)
    Object.assign(this.algorithm, this.saved.hardState) // it has taken part in this epoch
  }

  hello () {
    const uptime = performance.now() - this.started
    return { ...this.helloBase, clusterId: this.membership.clusterId(), digest: this.membership.digest(), uptime }
  }

  async start () {
    const colon = this.listen.lastIndexOf(':')
    await this.connections.listen(this.listen.slice(0, colon), Number(this.listen.slice(colon + 1)))
    this.handle((now) => this.membership.start(now))
    let due = performance.now() + TICK
    this.ticker = setInterval(() => {
      const late = performance.now() - due
      this.handle((now) => {
        this.detector.wake(now, late)
        this.deliverSuspicions()
        this.membership.wake(now)
      })
      due = performance.now() + TICK
    }, TICK)
  }

  async stop () {
    clearInterval(this.ticker)
    for (const timer of this.timers.values()) clearTimeout(timer)
    this.handle(() => { for (const id of this.links.keys()) if (this.view.has(id)) this.send(id, { kind: 'goodbye' }) })
    await this.connections.stop()
  }

  // handle handles an event, and all that follows from it. An event that follows from another one waits for its end.
  handle (event) {
    this.events.push(event)
    if (this.events.length > 1) return
    try {
      for (; this.events.length > 0; this.events.shift()) this.handleOne(this.events[0])
    } finally { this.events.length = 0 }
  }

  handleOne (event) {
    const now = performance.now()
    if (this.isRunning) this.algorithm.wake?.(now)
    try {
      event(now)
      this.deliverSuspicions()
      this.updateView(now)
      if (!this.isRunning && this.membership.mayStart(now)) this.startAlgorithm()
      this.deliverSuspicions()
    } finally {
      this.store?.save({ ...this.saved, record: this.membership.record, hardState: this.algorithm.hardState() })
      for (const [id, message, repeat] of this.outbox.splice(0)) this.connections.send(id, this.view.get(id)?.address, message, repeat)
    }
  }

  handlers () {
    return {
      reached: (id, address) => this.handle(() => this.membership.locate(address, id)),
      up: (id, hello, dialed) => this.handle((now) => {
        this.links.set(id, { incarnation: hello.incarnation })
        if (this.view.has(id)) this.detector.up(now, id, hello.incarnation)
        this.membership.up(now, id, hello, dialed)
      }),
      frame: (id, message) => this.handle((now) => this.receive(now, id, message)),
      down: (id, isGraceful) => this.handle((now) => {
        this.links.delete(id)
        if (this.view.has(id)) this.detector.down(now, id, isGraceful)
        this.membership.down(id)
      }),
      dialFailed: (id, address, result) => this.handle((now) => {
        if (this.view.has(id)) this.detector.dialFailed(now, id, this.view.get(id).address === address ? result : 'unanswered')
        this.membership.dialEnded(now, address, { refused: 'refused', broken: 'pending', unanswered: 'silent' }[result])
      })
    }
  }

  receive (now, from, message) {
    if (this.view.has(from)) {
      this.detector.heard(now, from)
      this.deliverSuspicions()
    }
    const link = this.links.get(from)
    if (!link || this.membership.receive(now, from, message)) return
    const isForDetector = DETECTOR_KINDS.includes(message.kind)
    if (['subscribe', 'heartbeat'].includes(message.kind)) this.membership.handleDigest(now, from, message.digest)
    if (!this.view.has(from)) {
      if (message.kind === 'subscribe') link.subscribe = message
      else if (!isForDetector && !this.isRunning) link.early = message
    } else if (isForDetector) {
      this.detector.receive(now, from, message)
      if (message.kind === 'heartbeat' && this.isRunning && !this.monitored.has(from)) this.algorithm.trust(from)
    } else if (this.isRunning) this.algorithm.receive(from, message)
    else link.early = message
  }

  // deliverSuspicions passes the news of the detector about monitored members to the algorithm.
  deliverSuspicions () {
    for (let change; (change = this.suspicions.shift());) {
      const [id, what] = change
      if (this.isRunning && this.monitored.has(id)) this.algorithm[what](id)
    }
  }

  monitor (ids) {
    this.monitored = new Set(ids)
    this.suspicions = this.suspicions.filter(([id]) => ids.has(id))
    this.detector.monitor(performance.now(), ids)
  }

  updateView (now) {
    this.detector.digest = this.membership.digest()
    const [view, config] = [this.membership.members(now), this.membership.configId()]
    const text = ({ term, version }, view) => JSON.stringify([`${term}.${version}`, ...view])
    if (text(config, view) === text(this.config, this.view)) return
    const previous = this.view
    Object.assign(this, { view, config })
    for (const id of view.keys()) {
      const link = this.links.get(id)
      if (previous.has(id) || !link) continue
      this.detector.up(now, id, link.incarnation)
      if (link.subscribe) this.detector.receive(now, id, link.subscribe)
    }
    for (const [id] of previous) if (!view.has(id)) this.detector.forget(id)
    if (this.isRunning && view.has(this.self.id)) this.algorithm.reconfigure(view, config)
  }

  startAlgorithm () {
    this.isRunning = true
    this.algorithm.start(this.view, this.config)
    for (const id of this.view.keys()) {
      const early = this.links.get(id)?.early
      if (early) this.algorithm.receive(id, early)
    }
  }

  setTimer (timer, ms) {
    this.stopTimer(timer)
    this.timers.set(timer, setTimeout(() => this.handle(() => this.algorithm.expire(timer)), ms))
  }

  stopTimer (timer) { clearTimeout(this.timers.get(timer)) }

  send (id, message, repeat = false) {
    if (message.kind !== 'heartbeat') this.detector.sent(performance.now(), id)
    this.outbox.push([id, message, repeat])
  }
}

// settingsText is what a hello says about the settings. Others only compare it, and log a difference.
function settingsText ({ announce, answer, coordinator, headStart }, lease) {
  const duration = (ms) => ms < 1 ? `${ms * 1000}µs` : ms < 1000 ? `${ms}ms` : `${ms / 1000}s`
  const lines = [
    `announce_interval=${duration(announce)}`, `answer_timeout=${duration(answer)}`, `coordinator_timeout=${duration(coordinator)}`,
    `head_start=${duration(headStart)}`, 'skip_suspected=true'
  ]
  if (lease) {
    lines.push('lease_clock_drift=10', `lease_duration=${duration(lease.duration)}`, `lease_margin=${duration(lease.margin)}`,
      `lease_renew_interval=${duration(lease.renewInterval)}`, 'lease_trust_evidence=false', 'lease_trusted_network=false')
  }
  return lines.sort().join('\n')
}
