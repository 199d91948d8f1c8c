// The bully algorithm, as docs/protocol.md says it. It has no clock and no network: its environment sends messages
// and runs timers, and calls it with what happens.

const MAX_NEWER_EPOCHS = 3 // taken by a leader within one announce interval

// defaultTimes are the times of the algorithm in ms.
export function defaultTimes ({ heartbeat, roundTrip }) {
  return {
    headStart: roundTrip / 2,
    answer: roundTrip,
    coordinator: 2 * roundTrip,
    announce: Math.max(10 * heartbeat, 2 * roundTrip)
  }
}

// isAbove reports whether member a is eligible and above b. Both are {id, priority, eligible}.
function isAbove (a, b) {
  if (!a?.eligible || !b) return false
  if (!b.eligible) return true
  return a.priority !== b.priority ? a.priority > b.priority : a.id > b.id
}

// isEligible reports whether id is a member that may be elected now.
export const isEligible = (members, id) => members.get(id)?.eligible ?? false

const isOlder = (a, b) => a.epoch !== b.epoch ? a.epoch < b.epoch : (a.id ?? '') < (b.id ?? '')

export class Bully {
  epoch = 0n
  leader = { epoch: 0n, id: null } // that was announced last; id is null if there is none
  phase = 'idle' // headStart, electing, waiting, inquiring
  awaited = new Set()
  suspected = new Set()
  isInformed = false // it has followed a leader, or led
  mayAskAgain = false // several members were asked, and no message has come since
  newerEpochs = 0

  // env has send(id, message, repeat), setTimer(name, ms), stopTimer(name), monitor(ids) and announce(leader).
  constructor (self, times, env) { Object.assign(this, { self, times, env, members: new Map() }) }

  // Events.

  start (members) {
    this.members = members
    this.startElection()
  }

  reconfigure (members) {
    this.members = members
    if (this.leader.id && !isEligible(this.members, this.leader.id)) this.loseLeader()
    const hadAwaited = this.awaited.size > 0
    for (const id of this.awaited) if (!this.isAboveSelf(id)) this.awaited.delete(id)
    if (this.phase === 'inquiring') this.startElection()
    else if (this.phase === 'idle' && !this.leader.id) this.succeed()
    else if (this.phase === 'idle' && isAbove(members.get(this.self), members.get(this.leader.id))) this.startElection()
    else if (hadAwaited && this.awaited.size === 0) this.proceedWithoutAwaited()
    else this.monitor()
    this.stayAhead()
  }

  receive (from, message) {
    const before = this.epoch
    if (message.epoch > this.epoch) this.epoch = message.epoch
    switch (message.kind) {
      case 'election': this.handleElection(from, message.epoch, before); break
      case 'answer': this.countAsAnswer(from); break
      case 'inquiry': this.send(from, { kind: 'answer', epoch: this.epoch }); this.countAsAnswer(from); break
      case 'coordinator': this.handleCoordinator(from, { epoch: message.epoch, id: message.leader })
    }
    this.mayAskAgain = false
    this.stayAhead()
  }

  expire (timer) {
    switch (timer) {
      case 'headStart': this.ask(); break
      case 'answer': if (this.mayAskAgain) { this.ask(); this.mayAskAgain = false } else this.lead(); break
      case 'coordinator': this.startElection(); break
      case 'announce':
        this.newerEpochs = 0
        for (const id of this.others()) this.sendCoordinator(id, true)
        this.env.setTimer('announce', this.times.announce)
    }
  }

  suspect (id) {
    this.suspected.add(id)
    if (id === this.leader.id) this.loseLeader()
    if (this.phase === 'idle' && !this.leader.id) this.succeed()
    else if (this.awaited.delete(id)) {
      if (this.awaited.size === 0) this.proceedWithoutAwaited()
      else if (this.phase === 'headStart') this.monitor()
    }
  }

  trust (id) {
    this.suspected.delete(id)
    if (!this.isAboveSelf(id)) return
    if (this.phase === 'idle' && this.leads()) this.sendCoordinator(id)
    if (this.phase === 'electing') {
      this.awaited.add(id)
      this.send(id, { kind: 'election', epoch: this.epoch })
      this.env.setTimer('answer', this.times.answer)
    }
  }

  // Steps.

  startElection () {
    this.changePhase('idle')
    this.awaitMembers(this.above())
    if (this.awaited.size > 0) this.ask()
    else this.lead()
  }

  ask () {
    this.mayAskAgain = this.awaited.size > 1
    this.sendToAwaited('electing', { kind: 'election', epoch: this.epoch })
  }

  sendToAwaited (phase, message) {
    this.changePhase(phase, this.awaited)
    for (const id of this.awaited) this.send(id, message)
    this.env.setTimer('answer', this.times.answer)
  }

  // succeed starts the election after the end of a leader: the members above have a head start.
  succeed () {
    this.awaitMembers(this.above())
    if (this.awaited.size === 0) return this.startElection()
    this.changePhase('headStart', this.awaited)
    this.env.setTimer('headStart', this.times.headStart)
  }

  lead () {
    const hasInquired = this.phase === 'inquiring'
    this.changePhase('idle')
    if (!isEligible(this.members, this.self)) {
      this.loseLeader()
      this.changePhase('waiting')
      return this.env.setTimer('coordinator', this.times.coordinator)
    }
    if (!this.isInformed && !hasInquired) {
      this.awaitMembers(this.below())
      if (this.awaited.size > 0) return this.sendToAwaited('inquiring', { kind: 'inquiry' })
    }
    if (!this.leads()) {
      this.newerEpochs = 0
      this.env.setTimer('announce', this.times.announce)
    }
    this.epoch++
    this.setLeader({ epoch: this.epoch, id: this.self })
    for (const id of this.below()) this.sendCoordinator(id)
  }

  follow (leader) {
    if (this.phase === 'idle' && leader.id === this.leader.id && leader.epoch === this.leader.epoch) return
    this.changePhase('idle')
    if (this.leads()) this.env.stopTimer('announce')
    this.setLeader(leader)
  }

  setLeader (leader) {
    const isNew = leader.id !== this.leader.id || leader.epoch !== this.leader.epoch
    this.leader = leader
    this.isInformed = true
    this.monitor()
    if (isNew) this.env.announce(leader)
  }

  loseLeader () {
    if (!this.leader.id) return
    if (this.leads()) this.env.stopTimer('announce')
    this.leader = { epoch: this.leader.epoch, id: null }
    this.env.announce(this.leader)
  }

  handleElection (from, epoch, before) {
    if (!isAbove(this.members.get(this.self), this.members.get(from))) return
    if (epoch < before) {
      if (this.leader.id && this.leader.epoch > epoch) this.sendCoordinator(from)
      else this.send(from, { kind: 'answer', epoch: this.epoch })
      return
    }
    this.send(from, { kind: 'answer', epoch: this.epoch })
    if (this.phase !== 'idle') return
    if (!this.leads()) this.startElection()
    else if (this.leader.epoch === this.epoch) this.sendCoordinator(from)
  }

  handleCoordinator (from, named) {
    const isCurrent = named.epoch >= this.epoch && !isOlder(named, this.leader)
    if (isCurrent && this.isAboveSelf(named.id) && !this.suspected.has(named.id)) return this.follow(named)
    this.countAsAnswer(from)
    const isOwn = named.id === this.self
    if (isOwn && this.leads() && named.epoch === this.leader.epoch) return
    if (this.leader.id && isOlder(named, this.leader)) this.sendCoordinator(from)
    else if (named.epoch < this.epoch) this.send(from, { kind: 'answer', epoch: this.epoch })
    else if (!isOwn && !isEligible(this.members, named.id)) return
    else if (this.phase !== 'idle') return
    else if (this.leads()) this.takeNewerEpoch()
    else this.startElection()
  }

  countAsAnswer (from) {
    const isLiveAbove = this.isAboveSelf(from) && !this.suspected.has(from)
    if (this.phase === 'waiting' && isLiveAbove) this.awaited.add(from)
    else if ((this.phase === 'electing' && this.awaited.has(from)) || (this.phase === 'inquiring' && isLiveAbove)) {
      this.changePhase('waiting', new Set([from]))
      this.env.setTimer('coordinator', this.times.coordinator)
    } else if (this.phase === 'inquiring' && this.awaited.delete(from) && this.awaited.size === 0) this.lead()
  }

  proceedWithoutAwaited () {
    if (this.phase === 'waiting') this.startElection()
    else this.lead()
  }

  stayAhead () {
    if (this.phase === 'idle' && this.leads() && this.leader.epoch < this.epoch) this.takeNewerEpoch()
  }

  takeNewerEpoch () {
    if (this.newerEpochs >= MAX_NEWER_EPOCHS) return
    this.newerEpochs++
    this.lead()
  }

  changePhase (phase, awaited = new Set()) {
    const timers = { headStart: 'headStart', electing: 'answer', inquiring: 'answer', waiting: 'coordinator' }
    if (timers[this.phase]) this.env.stopTimer(timers[this.phase])
    Object.assign(this, { phase, awaited })
    if (phase === 'idle') this.mayAskAgain = false
    else this.monitor()
  }

  // monitor tells the failure detector on which members this one depends.
  monitor () {
    const ids = new Set()
    if (this.phase !== 'idle') {
      const highest = [...this.awaited].reduce((a, b) => isAbove(this.members.get(a), this.members.get(b)) ? a : b, null)
      for (const id of this.above()) if (this.phase !== 'headStart' || id === highest || this.suspected.has(id)) ids.add(id)
    }
    if (this.phase === 'inquiring') for (const id of this.awaited) ids.add(id)
    if (this.leader.id && !this.leads()) ids.add(this.leader.id)
    for (const id of this.suspected) if (!ids.has(id)) this.suspected.delete(id)
    this.env.monitor(ids)
  }

  // Helpers.

  leads () { return this.leader.id === this.self }
  others () { return [...this.members.keys()].filter((id) => id !== this.self).sort() }
  isAboveSelf (id) { return id !== this.self && isAbove(this.members.get(id), this.members.get(this.self)) }
  above () { return this.others().filter((id) => this.isAboveSelf(id)) }
  below () { return this.others().filter((id) => !this.isAboveSelf(id)) }
  awaitMembers (ids) { this.awaited = new Set(ids.filter((id) => !this.suspected.has(id))) }
  send (to, message) { this.env.send(to, message, false) }
  sendCoordinator (to, repeat = false) {
    this.env.send(to, { kind: 'coordinator', epoch: this.leader.epoch, leader: this.leader.id }, repeat)
  }
}
