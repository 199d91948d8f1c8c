// The lease around bully, as docs/protocol.md says it: bully nominates, and a nominee leads while a quorum has granted
// it the lease. It leaves out to withdraw itself, as a member does that reaches no quorum.
import { Bully, isEligible } from './bully.mjs'
import { NO_ID } from './messages.mjs'

// The times of the presets in ms. Members reject a lease of another duration.
export const leaseTimes = {
  local: { duration: 310, renewInterval: 25, margin: 0.5 },
  lan: { duration: 960, renewInterval: 150, margin: 2 },
  wan: { duration: 6130, renewInterval: 625, margin: 10 }
}
const DRIFT = 10 // percent

export class Lease {
  // Saved before a message leaves that depends on it.
  ballot = 0n
  vote = NO_ID
  kept = 0 // ms that a grant may last; 0 if there is none

  grant = null // {to, ballot}
  leader = { epoch: 0n, id: null } // that was announced last
  nominee = { epoch: 0n, id: null }
  heard = 0n // the highest ballot in any message
  stage = 'idle' // idle (no nominee), rests, tries, requests, holds
  free = new Set() // members that would grant now
  repliers = new Set() // to the last question
  against = new Set() // members that have denied the ballot
  denied = new Set() // members to which this one has denied a request
  round = 0n
  rounds = [] // that no quorum has granted yet: {number, end, granted}
  leaseEnd = 0 // 0 if this member holds none
  withdrawals = new Map() // the last message about each member: {seq, cancelled}

  // The times are those of bully, with those of the lease and the round trip. The environment is that of bully, with
  // now().
  constructor (self, times, env) {
    Object.assign(this, { self, times, env, term: times.duration * (100 - DRIFT) / (100 + DRIFT) - times.margin })
    this.inner = new Bully(self, times, { ...env, announce: (nominee) => { this.nominee = nominee } })
  }

  hardState () { return { ballot: this.ballot, vote: this.vote, kept: this.kept } }

  // Events.

  // start begins with the hard state that it has by now.
  start (members, config) {
    Object.assign(this, { members, config })
    if (this.kept > 0) {
      this.grant = { to: this.vote, ballot: this.ballot }
      this.env.setTimer('lease/grant', Math.max(this.kept, this.times.duration))
      if (this.vote !== this.self && members.has(this.vote)) this.reply(this.vote, { ballot: 0n, round: 0n }, false)
    }
    this.adoptConfigTerm()
    this.inner.start(this.seats())
    this.consider()
  }

  reconfigure (members, config) {
    Object.assign(this, { members, config })
    this.adoptConfigTerm()
    if (this.stage === 'requests' || this.stage === 'holds') this.beginRound()
    if (this.leader.id !== this.self && !isEligible(members, this.leader.id)) this.loseLeader()
    this.inner.reconfigure(this.seats())
    this.consider()
  }

  receive (from, message) {
    switch (message.kind) {
      case 'lease/request': this.handleRequest(from, message); break
      case 'lease/reply': this.handleReply(from, message); break
      case 'lease/release': this.handleRelease(from, message.ballot); break
      case 'lease/withdraw': this.handleWithdraw(from, message); break
      default: if (this.inner.members.has(from)) this.inner.receive(from, message)
    }
    this.consider()
  }

  expire (timer) {
    if (timer === 'lease/grant') this.grant = null
    else if (timer === 'lease/follow') this.loseLeader()
    else if (timer === 'lease/retry') this.try()
    else if (timer === 'lease/renew') this.beginRound()
    else if (timer.startsWith('lease/withdraw/')) {
      this.withdrawals.delete(timer.slice('lease/withdraw/'.length))
      this.inner.reconfigure(this.seats())
    } else this.inner.expire(timer)
    this.consider()
  }

  // wake ends what has lasted long enough. It comes before any other event.
  wake (now) {
    const hasEnded = this.rounds.some(({ end }) => end <= now)
    this.rounds = this.rounds.filter(({ end }) => end > now)
    if (this.leaseEnd && this.leaseEnd <= now) this.lose()
    else if (hasEnded && this.stage === 'requests') this.rest()
  }

  suspect (id) {
    if (id === this.leader.id) this.loseLeader()
    if (this.inner.members.has(id)) this.inner.suspect(id)
    this.consider()
  }

  trust (id) {
    if (this.inner.members.has(id)) this.inner.trust(id)
    this.consider()
  }

  // consider does what follows from an event.
  consider () {
    const isNominee = this.nominee.id === this.self && isEligible(this.members, this.self)
    if (isNominee && this.stage === 'idle') this.try()
    else if (!isNominee && !['idle', 'holds'].includes(this.stage)) this.giveUp()
    else if (this.stage === 'holds' && !isEligible(this.members, this.self)) this.handOver()
    if (this.stage === 'tries' && !this.grant && this.isQuorum(this.free)) this.stand()
    for (const id of this.denied) {
      if (!this.isOpen(id)) continue
      this.denied.delete(id)
      this.reply(id, { ballot: 0n, round: 0n }, true)
      break // it can grant the lease to one member only
    }
  }

  // The voter.

  handleRequest (from, request) {
    if (request.leading) this.follow(from, request.ballot)
    const isGranted = this.grants(from, request)
    if (!isGranted && !this.isOpen(from)) this.denied.add(from)
    if (isGranted && request.ballot > 0n) {
      Object.assign(this, { ballot: request.ballot, vote: from, kept: this.times.duration, grant: { to: from, ballot: request.ballot } })
      this.env.setTimer('lease/grant', this.times.duration)
    }
    this.reply(from, request, isGranted)
    if (this.stage === 'holds' && request.quorumReachable && this.nominee.id === from && isEligible(this.members, from)) this.handOver()
  }

  reply (to, { ballot, round, again = false }, granted) {
    this.env.send(to, { kind: 'lease/reply', ballot, round, granted, highestBallot: this.ballot }, again)
  }

  grants (from, { ballot, configId, duration, leading }) {
    const { term, version } = this.config
    const isOlder = term > 0n && (configId.term < term || (configId.term === term && configId.version < version))
    const isOver = ballot > 0n && (ballot < this.ballot || (ballot === this.ballot && this.vote !== from))
    if (['requests', 'holds'].includes(this.stage) || isOlder || duration !== this.times.duration || isOver) return false
    if (this.grant && this.grant.to !== from) return false
    if (leading || this.grant?.ballot === ballot) return true
    return isEligible(this.members, from) && (this.grant !== null || this.isOpen(from))
  }

  // isOpen reports whether this member has granted nothing, and has no other nominee.
  isOpen (to) {
    const isIdle = !this.grant && !['requests', 'holds'].includes(this.stage)
    return isIdle && isEligible(this.members, to) && (!this.nominee.id || this.nominee.id === to)
  }

  follow (from, ballot) {
    if (ballot > this.heard) this.heard = ballot
    if (ballot < this.ballot || this.leaseEnd || !isEligible(this.members, from)) return
    if (this.stage === 'requests') this.giveUp()
    Object.assign(this, { ballot, vote: from })
    if (this.grant?.to !== from) this.grant = null
    this.env.setTimer('lease/follow', this.times.duration)
    this.announce({ epoch: ballot, id: from })
  }

  handleRelease (from, ballot) {
    if (this.grant?.to === from && this.grant.ballot <= ballot) {
      this.grant = null
      this.env.stopTimer('lease/grant')
    }
    if (this.leader.id === from && this.leader.epoch <= ballot) this.loseLeader()
  }

  // The nominee.

  try () {
    const again = this.stage === 'tries'
    Object.assign(this, { stage: 'tries', free: new Set(), repliers: new Set() })
    this.env.setTimer('lease/retry', this.randomWait())
    this.broadcast(this.newRequest({ ballot: 0n, round: 0n, again }), again)
  }

  handleReply (from, { ballot, round, granted, highestBallot }) {
    if (highestBallot > this.heard) this.heard = highestBallot
    if (ballot === 0n) return this.handlePreVote(from, granted)
    if (ballot !== this.ballot || !['requests', 'holds'].includes(this.stage)) return
    if (granted) {
      this.against.delete(from)
      for (const r of this.rounds) if (r.number <= round) r.granted.add(from)
      return this.count()
    }
    this.against.add(from)
    const mayWin = this.members.size - this.countMembers(this.against) >= this.quorum()
    if (this.stage === 'requests' && !mayWin) this.rest()
    else if (this.stage === 'holds' && highestBallot > this.ballot) {
      if (!mayWin) return this.handOver()
      Object.assign(this, { ballot: this.heard + 1n, kept: this.times.duration, rounds: [] })
      this.beginRound()
    }
  }

  // handlePreVote handles a reply to the question whether a member would grant.
  handlePreVote (from, granted) {
    if (this.stage === 'holds' && !granted) this.env.send(from, this.request(), true) // it has restarted
    if (this.stage !== 'tries') return
    if (granted) this.free.add(from)
    else this.free.delete(from)
    const hadQuorum = this.isQuorum(this.repliers)
    this.repliers.add(from)
    const leader = this.leader.id
    if (hadQuorum || !this.isQuorum(this.repliers) || !this.members.has(leader)) return
    if (!this.grant || this.grant.to === leader) this.env.send(leader, this.newRequest({ ballot: 0n, round: 0n, quorumReachable: true }), false)
  }

  stand () {
    const ballot = [this.ballot + 1n, this.heard + 1n, this.nominee.epoch].reduce((a, b) => a > b ? a : b)
    Object.assign(this, { stage: 'requests', against: new Set(), ballot, vote: this.self, kept: this.times.duration })
    this.env.stopTimer('lease/retry')
    this.beginRound()
  }

  beginRound () {
    this.round++
    this.rounds.push({ number: this.round, end: this.env.now() + this.term, granted: new Set() })
    this.env.setTimer('lease/renew', this.times.renewInterval)
    this.broadcast(this.request(), this.leads())
    this.count()
  }

  request () {
    return this.newRequest({ ballot: this.ballot, round: this.round, leading: this.leads(), again: this.leads() })
  }

  // count looks for the last round that a quorum has granted.
  count () {
    const last = this.rounds.findLastIndex(({ granted }) => this.isQuorum(granted))
    if (last < 0) return
    this.leaseEnd = this.rounds[last].end
    this.rounds = this.rounds.slice(last + 1)
    if (this.leads()) return
    this.stage = 'holds'
    this.env.stopTimer('lease/follow')
    this.announce({ epoch: this.ballot, id: this.self })
    this.beginRound() // so all members hear of it
  }

  rest () {
    this.giveUp()
    this.stage = 'rests'
    this.env.setTimer('lease/retry', this.randomWait())
  }

  giveUp () {
    this.env.stopTimer('lease/retry')
    if (this.stage === 'requests') {
      this.end()
      this.release()
    }
    this.stage = 'idle'
  }

  // The holder.

  handOver () {
    this.lose()
    this.release()
  }

  lose () {
    this.end()
    this.stage = 'idle'
    this.loseLeader()
  }

  end () {
    Object.assign(this, { rounds: [], leaseEnd: 0 })
    this.env.stopTimer('lease/renew')
  }

  release () {
    this.broadcast({ kind: 'lease/release', ballot: this.ballot }, false)
    if (this.vote === this.self) this.kept = 0
  }

  // adoptConfigTerm takes the term of the config: ballots up to that one are over.
  adoptConfigTerm () {
    if (this.config.term <= this.ballot) return
    Object.assign(this, { ballot: this.config.term, vote: NO_ID })
    if (['requests', 'holds'].includes(this.stage)) this.lose()
  }

  // Members that have withdrawn.

  handleWithdraw (from, { id, seq, cancelled }) {
    const before = this.withdrawals.get(id)
    if (id === this.self) { // it is of an earlier run
      this.broadcast({ kind: 'lease/withdraw', id, seq: seq + 1n, cancelled: true }, true)
      return
    }
    if (!this.members.has(id) || seq <= (before?.seq ?? -1n)) return
    this.withdrawals.set(id, { seq, cancelled })
    this.env.setTimer(`lease/withdraw/${id}`, 3 * this.times.duration)
    for (const other of this.others()) if (other !== from) this.env.send(other, { kind: 'lease/withdraw', id, seq, cancelled }, true)
    if ((before?.cancelled ?? true) !== cancelled) this.inner.reconfigure(this.seats())
  }

  // seats are the members with which bully runs: without those that have withdrawn, unless no other could lead.
  seats () {
    const seats = new Map([...this.members].filter(([id]) => this.withdrawals.get(id)?.cancelled ?? true))
    return [...seats.values()].some(({ eligible }) => eligible) ? seats : this.members
  }

  // Helpers.

  leads () { return this.leader.id === this.self && this.leader.epoch === this.ballot }
  others () { return [...this.members.keys()].filter((id) => id !== this.self) }
  quorum () { return Math.floor(this.members.size / 2) + 1 }
  countMembers (ids) { return this.others().filter((id) => ids.has(id)).length }
  isQuorum (others) { return 1 + this.countMembers(others) >= this.quorum() }
  randomWait () { return this.times.roundTrip * (0.5 + Math.random()) }
  broadcast (message, repeat) { for (const id of this.others()) this.env.send(id, message, repeat) }
  newRequest ({ ballot, round, leading = false, quorumReachable = false, again = false }) {
    return { kind: 'lease/request', ballot, round, configId: this.config, duration: this.times.duration, leading, quorumReachable, again }
  }

  announce (leader) {
    const isNew = leader.id !== this.leader.id || leader.epoch !== this.leader.epoch
    this.leader = leader
    if (isNew) this.env.announce(leader)
  }

  loseLeader () { if (this.leader.id) this.announce({ epoch: this.leader.epoch, id: null }) }
}
