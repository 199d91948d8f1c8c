// A member of a cluster without a quorum: it connects the parts. An event is handled to its end before the next one.
import { randomBytes, randomUUID } from 'node:crypto'
import { Bully, defaultTimes } from './bully.mjs'
import { Connections } from './connections.mjs'
import { Detector } from './detector.mjs'
import { clusterId, cutText, listDigest } from './hashes.mjs'
import { Membership } from './membership.mjs'

const TICK = 10 // ms between two looks at what is due

const base = { minRedial: 10, maxRedial: 1000 }
export const presets = {
  local: { ...base, heartbeat: 20, timeout: 150, roundTrip: 50, firstContact: 300 },
  lan: { ...base, heartbeat: 120, timeout: 380, roundTrip: 200, firstContact: 760 },
  wan: { ...base, heartbeat: 500, timeout: 3000, roundTrip: 1000, firstContact: 6000 }
}

const DETECTOR_KINDS = ['watch', 'beat', 'doubt', 'vouch', 'goodbye']

export class Member {
  links = new Map() // what is kept of connected nodes: {incarnation, watch, early}
  timers = new Map()
  monitored = new Set()
  view = new Map()
  suspicions = [] // changes that the algorithm has not handled yet
  isRunning = false

  // onLeader is called with the name of each new leader, or null, and its epoch. onStop is called with a reason.
  constructor ({ name, cluster, listen, members, priority, preset, secure, onLeader, onStop }) {
    const times = { ...presets[preset], repeat: defaultTimes(presets[preset]).announce }
    const uuid = randomUUID().replaceAll('-', '')
    Object.assign(this, { onLeader, listenAddress: listen, started: performance.now() })
    this.self = { id: uuid, name, address: listen, priority, witness: false }
    const starts = BigInt(Math.floor(Date.now() / 1000)) // as an empty data directory counts them
    this.helloBase = {
      kind: 'hello', minVersion: 1, maxVersion: 1, cluster, clusterId: clusterId(cluster), algorithm: 'bully',
      settings: settingsText(defaultTimes(times)), name, id: uuid, incarnation: (starts << 32n) | BigInt(randomBytes(4).readUInt32BE()),
      client: false, address: listen, view: listDigest(members), members: cutText(`[${[...members].sort().join(', ')}]`), metadata: ''
    }
    this.connections = new Connections({ hello: () => ({ ...this.helloBase, ran: performance.now() - this.started }), handlers: this.handlers(), secure })
    this.detector = new Detector(times, {
      send: (id, message) => this.send(id, message),
      dial: (id) => this.connections.dial(id, this.view.get(id)?.address),
      suspect: (id) => this.suspicions.push([id, 'suspect']),
      trust: (id) => this.suspicions.push([id, 'trust'])
    })
    this.detector.digest = this.helloBase.view
    this.membership = new Membership(this.self, members, times, {
      send: (id, message) => this.send(id, message),
      reject: (id, reason) => this.connections.reject(id, reason),
      dial: (address) => this.connections.dial(null, address),
      stop: onStop
    })
    this.bully = new Bully(uuid, defaultTimes(times), {
      send: (id, message, repeat) => this.send(id, message, repeat),
      setTimer: (timer, ms) => this.setTimer(timer, ms),
      stopTimer: (timer) => this.stopTimer(timer),
      monitor: (ids) => this.monitor(ids),
      announce: ({ id, epoch }) => this.onLeader(id && this.view.get(id).name, epoch)
    })
  }

  async start () {
    const colon = this.listenAddress.lastIndexOf(':')
    await this.connections.listen(this.listenAddress.slice(0, colon), Number(this.listenAddress.slice(colon + 1)))
    this.handle((now) => this.membership.start(now))
    let due = performance.now() + TICK
    this.ticker = setInterval(() => {
      const late = performance.now() - due
      this.handle((now) => { this.detector.wake(now, late); this.settle(); this.membership.wake(now) })
      due = performance.now() + TICK
    }, TICK)
  }

  async stop () {
    clearInterval(this.ticker)
    for (const timer of this.timers.values()) clearTimeout(timer)
    for (const id of this.links.keys()) if (this.view.has(id)) this.send(id, { kind: 'goodbye' })
    await this.connections.stop()
  }

  // handle handles one event, and all that follows from it.
  handle (event) {
    const now = performance.now()
    event(now)
    this.settle()
    this.updateView(now)
    if (!this.isRunning && this.membership.mayStart(now)) this.startAlgorithm()
    this.settle()
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
      this.settle()
    }
    const link = this.links.get(from)
    if (!link || this.membership.receive(now, from, message)) return
    const isForDetector = DETECTOR_KINDS.includes(message.kind)
    if (!this.view.has(from)) {
      if (message.kind === 'watch') link.watch = message
      else if (!isForDetector && !this.isRunning) link.early = message
    } else if (isForDetector) {
      this.detector.receive(now, from, message)
      if (message.kind === 'beat' && this.isRunning && !this.monitored.has(from)) this.bully.trust(from)
    } else if (this.isRunning) this.bully.receive(from, message)
    else link.early = message
  }

  // settle tells the algorithm what the detector has found out about members that it monitors.
  settle () {
    for (let change; (change = this.suspicions.shift());) {
      const [id, what] = change
      if (this.isRunning && this.monitored.has(id)) this.bully[what](id)
    }
  }

  monitor (ids) {
    this.monitored = new Set(ids)
    this.suspicions = this.suspicions.filter(([id]) => ids.has(id))
    this.detector.monitor(performance.now(), ids)
  }

  updateView (now) {
    const view = this.membership.members(now)
    if (JSON.stringify([...view]) === JSON.stringify([...this.view])) return
    const before = this.view
    this.view = view
    for (const id of view.keys()) {
      const link = this.links.get(id)
      if (before.has(id) || !link) continue
      this.detector.up(now, id, link.incarnation)
      if (link.watch) this.detector.receive(now, id, link.watch)
    }
    for (const id of before.keys()) if (!view.has(id)) this.detector.forget(id)
    if (this.isRunning) this.bully.reconfigure(view)
  }

  startAlgorithm () {
    this.isRunning = true
    this.bully.start(this.view)
    for (const id of this.view.keys()) {
      const early = this.links.get(id)?.early
      if (early) this.bully.receive(id, early)
    }
  }

  setTimer (timer, ms) {
    this.stopTimer(timer)
    this.timers.set(timer, setTimeout(() => this.handle(() => this.bully.expire(timer)), ms))
  }

  stopTimer (timer) { clearTimeout(this.timers.get(timer)) }

  send (id, message, repeat = false) {
    if (message.kind !== 'beat') this.detector.sent(performance.now(), id)
    this.connections.send(id, this.view.get(id)?.address, message, repeat)
  }
}

// settingsText is what a hello says about the settings. Others only compare it, and log a difference.
function settingsText ({ announce, answer, coordinator, headStart }) {
  const duration = (ms) => ms < 1000 ? `${ms}ms` : `${ms / 1000}s`
  return [
    `announce_interval=${duration(announce)}`, `answer_timeout=${duration(answer)}`, `coordinator_timeout=${duration(coordinator)}`,
    `head_start=${duration(headStart)}`, 'skip_suspected=true'
  ].join('\n')
}
