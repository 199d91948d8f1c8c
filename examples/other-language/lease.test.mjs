// Plays the rules of the lease with a member that has one member above and one below.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defaultTimes } from './bully.mjs'
import { Lease, leaseTimes } from './lease.mjs'

const [low, self, high] = ['1', '2', '3'].map((digit) => digit.repeat(32))
const names = { [low]: 'low', [self]: 'self', [high]: 'high' }
const config = { term: 1n, version: 2n }

// start returns a member with a running algorithm, and its actions for the lease since the last call of did().
function start (hardState) {
  const effects = []
  const clock = { now: 0 }
  const show = (m) => m.kind === 'lease/reply' ? `${m.granted ? 'grant' : 'deny'} ${m.ballot}` : `${m.kind} ${m.ballot}${m.leading ? ' leading' : ''}`
  const times = { ...defaultTimes({ heartbeat: 120, roundTrip: 200 }), ...leaseTimes.lan, roundTrip: 200 }
  const lease = Object.assign(new Lease(self, times, {
    now: () => clock.now,
    send: (to, m) => { if (m.kind.startsWith('lease/')) effects.push(`${show(m)} to ${names[to]}`) },
    setTimer: () => {},
    stopTimer: () => {},
    monitor: () => {},
    announce: ({ id, epoch }) => effects.push(`leader ${id ? names[id] : 'none'} ${epoch}`)
  }), hardState)
  lease.start(new Map([low, self, high].map((id) => [id, { id, priority: 0, eligible: true }])), config)
  const request = (from, fields) => lease.receive(from, {
    kind: 'lease/request', ballot: 0n, round: 1n, configId: config, duration: 960, leading: false, quorumReachable: false, again: false, ...fields
  })
  const reply = (from, fields) => lease.receive(from, { kind: 'lease/reply', round: 0n, granted: true, highestBallot: 0n, ...fields })
  return { lease, clock, request, reply, did: () => effects.splice(0) }
}

test('a voter grants one ballot, and denies a lower one and another member', () => {
  const { lease, request, did } = start()
  request(high, { ballot: 5n })
  assert.deepEqual(did(), ['grant 5 to high'])
  assert.deepEqual(lease.hardState(), { ballot: 5n, vote: high, kept: 960 })
  request(high, { ballot: 4n })
  request(low, { ballot: 6n })
  assert.deepEqual(did(), ['deny 4 to high', 'deny 6 to low'])
})

test('a voter denies a request by an older config, and one for another duration', () => {
  const { request, did } = start()
  request(high, { ballot: 5n, configId: { term: 1n, version: 1n } })
  request(high, { ballot: 5n, duration: 1000 })
  assert.deepEqual(did(), ['deny 5 to high', 'deny 5 to high'])
})

test('a restarted voter keeps its grant', () => {
  const { request, did } = start({ ballot: 5n, vote: high, kept: 960 })
  assert.deepEqual(did(), ['deny 0 to high'])
  request(low, { ballot: 6n })
  assert.deepEqual(did(), ['deny 6 to low'])
})

test('a nominee leads with a quorum, until its lease ends', () => {
  const { lease, clock, reply, did } = start()
  lease.receive(high, { kind: 'answer', epoch: 0n })
  lease.suspect(high) // and then it inquires the member below
  lease.receive(low, { kind: 'answer', epoch: 0n })
  assert.deepEqual(did(), ['lease/request 0 to low', 'lease/request 0 to high'])
  reply(low, { ballot: 0n })
  assert.deepEqual(did(), ['lease/request 2 to low', 'lease/request 2 to high'])
  clock.now = 100
  reply(low, { ballot: 2n, round: 1n })
  assert.deepEqual(did(), ['leader self 2', 'lease/request 2 leading to low', 'lease/request 2 leading to high'])
  lease.wake(783)
  assert.deepEqual(did(), [])
  lease.wake(784) // a term after the round began, not after the grant
  assert.deepEqual(did(), ['leader none 2'])
})
