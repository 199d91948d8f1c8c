// Connections of docs/protocol.md: frames, the hello, and one connection for each pair of nodes. A node that stays
// connected is a session; its connections may follow each other.
import net from 'node:net'
import { decodeMessage, encodeMessage, frame, FrameReader, NO_ID } from './messages.mjs'

const DIAL_TIMEOUT = 1000
const HELLO_TIMEOUT = 5000
const PROBE_TIMEOUT = 500
const CLOSE_TIMEOUT = 500
const SIMULTANEOUS = 1000 // of two dials within it, the second may not have known of the first
const MAX_FRAME = 64 << 10

const CLOSE = 0
const PROBE = 1
const PROBE_ANSWER = 2

// A Connection is one socket. Its end is 'graceful' if one side has closed it without a reason.
class Connection {
  reader = new FrameReader()
  hello = null // of the other side
  hasClosed = false // this side has
  isRejected = false
  end = null

  constructor (socket, dialed, onPayload, onEnd) {
    Object.assign(this, { socket, dialed, onPayload, onEnd })
    this.timer = setTimeout(() => this.finish('no hello in time'), HELLO_TIMEOUT)
    socket.setNoDelay?.(true)
    socket.on('data', (bytes) => this.handle(bytes))
    socket.on('error', () => this.finish('lost'))
    socket.on('close', () => this.finish('lost'))
    socket.on('end', () => this.finish('lost'))
  }

  handle (bytes) {
    try {
      this.reader.push(bytes)
      for (let payload; !this.end && (payload = this.reader.next());) this.handlePayload(payload)
    } catch (error) {
      this.close(error.message)
    }
  }

  handlePayload (payload) {
    switch (payload[0]) {
      case CLOSE: {
        const reason = payload.subarray(1).toString()
        this.write(frame(Buffer.of(CLOSE)))
        return this.finish(reason ? `rejected: ${reason}` : 'graceful')
      }
      case PROBE: return this.write(frame(Buffer.of(PROBE_ANSWER)))
      case PROBE_ANSWER: return this.onProbeAnswer?.()
      default: if (!this.isRejected) this.onPayload(this, payload) // also after a graceful close, until the other side closes
    }
  }

  // welcome ends the limits that hold until both sides have said hello.
  welcome (hello) {
    clearTimeout(this.timer)
    this.reader.limit = MAX_FRAME
    Object.assign(this, { hello, since: performance.now() })
  }

  probe () {
    this.write(frame(Buffer.of(PROBE)))
    return new Promise((resolve) => {
      this.onProbeAnswer = () => resolve(true)
      setTimeout(resolve, PROBE_TIMEOUT, false)
    })
  }

  write (bytes) { if (!this.hasClosed) this.socket.write(bytes) }
  send (message, repeat) { this.write(frame(encodeMessage(message, repeat))) }

  // close tells the other side that this one closes, and why, and waits for its answer for a moment.
  close (reason = '') {
    if (this.hasClosed || this.end) return
    this.write(frame(Buffer.concat([Buffer.of(CLOSE), Buffer.from(reason).subarray(0, 512)])))
    Object.assign(this, { hasClosed: true, isRejected: reason !== '' })
    setTimeout(() => this.finish(reason ? 'rejected' : 'graceful'), CLOSE_TIMEOUT)
  }

  finish (end) {
    if (this.end) return
    this.end = this.hasClosed && end === 'lost' ? 'graceful' : end
    clearTimeout(this.timer)
    this.hasClosed = true
    this.socket.end()
    setTimeout(() => this.socket.destroy(), CLOSE_TIMEOUT)
    this.onEnd(this, this.end)
  }
}

export class Connections {
  sessions = new Map() // by id: {hello, connections, active}
  queues = new Map() // by id: messages that wait for a dial
  dialing = new Set()

  // Handlers are up(id, hello, dialedAddress), reached(id, address), frame(id, message), down(id, isGraceful) and
  // dialFailed(id or null, address, 'refused' | 'broken' | 'unanswered'). Secure makes a socket a safe channel.
  constructor ({ hello, handlers, secure }) { Object.assign(this, { hello, handlers, secure: secure ?? (async (socket) => socket) }) }

  listen (host, port) {
    this.server = net.createServer((socket) => this.accept(socket))
    return new Promise((resolve, reject) => this.server.on('error', reject).listen(port, host, resolve))
  }

  async accept (socket) {
    socket.on('error', () => {})
    try {
      const channel = await this.secure(socket, false, HELLO_TIMEOUT)
      this.connect(channel, null)
    } catch { socket.destroy() }
  }

  // dial connects to an address. The id is null if it is not known which node is there.
  async dial (id, address) {
    const key = id ?? address
    if (this.dialing.has(key) || this.sessions.has(id)) return
    this.dialing.add(key)
    const target = { id, address, key }
    try {
      const socket = await connectTo(address)
      const channel = await this.secure(socket, true, HELLO_TIMEOUT)
      const connection = this.connect(channel, target)
      connection.send(this.hello())
    } catch (error) {
      this.endDial(target, error.result ?? 'unanswered')
    }
  }

  endDial (target, result) {
    if (!this.dialing.delete(target.key) || !result) return
    this.queues.delete(target.id)
    if (!this.sessions.has(target.id)) this.handlers.dialFailed(target.id, target.address, result)
  }

  connect (socket, target) {
    const onPayload = (c, payload) => this.handle(c, decodeMessage(payload))
    const connection = new Connection(socket, target, onPayload, (c, end) => this.handleEnd(c, end))
    if (!socket.readable) connection.finish('lost')
    return connection
  }

  handle (connection, message) {
    if (!connection.hello) return this.handleHello(connection, message)
    if (message.kind === 'hello') return // new metadata
    if (this.sessions.get(connection.hello.id)?.connections.includes(connection)) this.handlers.frame(connection.hello.id, message)
  }

  async handleHello (connection, theirs) {
    const ours = this.hello()
    const reason = checkHello(ours, theirs) ?? (connection.dialed?.id && connection.dialed.id !== theirs.id ? 'wrong id' : null)
    if (theirs.kind === 'hello' && theirs.id === ours.id && connection.dialed) this.handlers.reached(theirs.id, connection.dialed.address)
    if (reason) return connection.close(reason)
    const older = this.sessions.get(theirs.id)
    if (older && older.hello.incarnation !== theirs.incarnation) {
      connection.hello = theirs // no second one
      if (await older.active.probe()) return connection.close(`duplicate id: ${theirs.id} is in use by another process`)
      for (const c of [...older.connections]) c.finish('superseded')
      if (connection.end) return
    }
    connection.welcome(theirs)
    if (!connection.dialed) connection.send(ours)
    this.join(connection)
  }

  // join makes a connection part of the session of its node.
  join (connection) {
    const { hello, dialed } = connection
    const isNew = !this.sessions.has(hello.id)
    if (isNew) this.sessions.set(hello.id, { hello, connections: [] })
    const session = this.sessions.get(hello.id)
    session.connections.push(connection)
    this.select(session)
    if (dialed) this.dialing.delete(dialed.key)
    if (dialed && !dialed.id) this.handlers.reached(hello.id, dialed.address)
    if (isNew) this.handlers.up(hello.id, hello, dialed?.address ?? '')
    for (const [message, repeat] of this.queues.get(hello.id) ?? []) session.active.send(message, repeat)
    this.queues.delete(hello.id)
  }

  // select chooses the connection that carries a session: the newest, or of two simultaneous ones that of the lower id.
  select (session) {
    const isOfLowerId = (c) => Boolean(c.dialed) === (this.hello().id < session.hello.id)
    let best = null
    for (const c of session.connections.filter((c) => !c.hasClosed).reverse()) {
      if (isOfLowerId(c) && (!best || best.since - c.since < SIMULTANEOUS)) { best = c; break }
      best ??= c
    }
    session.active = best
    if (best?.dialed) for (const c of session.connections) if (c !== best) c.close()
  }

  handleEnd (connection, end) {
    const { dialed, hello } = connection
    const session = this.sessions.get(hello?.id)
    if (!session?.connections.includes(connection)) {
      if (dialed) this.endDial(dialed, end === 'lost' ? 'broken' : 'unanswered')
      return
    }
    session.connections = session.connections.filter((c) => c !== connection)
    if (session.active !== connection) return
    this.select(session)
    if (session.active && end === 'graceful') return
    this.sessions.delete(hello.id)
    for (const c of session.connections) c.close()
    this.handlers.down(hello.id, end === 'graceful')
  }

  // send sends a message to a node. If that is not connected it is dialed once, at its address.
  send (id, address, message, repeat) {
    const session = this.sessions.get(id)
    if (session) return session.active.send(message, repeat)
    if (!address) return
    this.queues.set(id, [...(this.queues.get(id) ?? []), [message, repeat]])
    this.dial(id, address)
  }

  reject (id, reason) { for (const c of this.sessions.get(id)?.connections ?? []) c.close(reason) }

  async stop () {
    this.server.close()
    for (const s of this.sessions.values()) for (const c of s.connections) c.close()
    await new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT))
  }
}

// connectTo opens a socket to host:port.
function connectTo (address) {
  const colon = address.lastIndexOf(':')
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) })
    const timer = setTimeout(() => socket.destroy(new Error('timeout')), DIAL_TIMEOUT)
    socket.on('connect', () => { clearTimeout(timer); resolve(socket) })
    socket.on('error', (error) => {
      clearTimeout(timer)
      const results = { ECONNREFUSED: 'refused', ECONNRESET: 'broken', EPIPE: 'broken' }
      reject(Object.assign(error, { result: results[error.code] }))
    })
  })
}

// checkHello returns why two nodes cannot work together, or null.
function checkHello (ours, theirs) {
  if (theirs.kind !== 'hello') return 'a hello comes first'
  if (theirs.minVersion > ours.maxVersion || theirs.maxVersion < ours.minVersion) return 'another version of the protocol'
  if (theirs.client) return 'this node has no status for clients'
  if (theirs.cluster !== ours.cluster) return 'another cluster name'
  if (theirs.algorithm !== ours.algorithm) return 'another algorithm'
  if (theirs.clusterId !== ours.clusterId && ![ours.clusterId, theirs.clusterId].includes(NO_ID)) return 'another cluster id'
  if (theirs.id === NO_ID || !/^[A-Za-z0-9._-]{1,64}$/.test(theirs.name)) return 'no id or no valid name'
  if (theirs.id === ours.id) return theirs.incarnation === ours.incarnation ? 'this node itself' : `duplicate id: ${ours.id}`
  return null
}
