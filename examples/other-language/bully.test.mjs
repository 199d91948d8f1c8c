// Plays the rules of bully with a member that has one member above and one below.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Bully, defaultTimes } from './bully.mjs'

const [low, self, high] = ['1', '2', '3'].map((digit) => digit.repeat(32))

// start returns a member with a running algorithm, and its actions since the last call of did().
function start (...ids) {
  let effects = []
  const names = { [low]: 'low', [self]: 'self', [high]: 'high' }
  const bully = new Bully(self, defaultTimes({ heartbeat: 120, roundTrip: 200 }), {
    send: (to, m, repeat) => effects.push(`${m.kind}${repeat ? '+' : ''} ${m.epoch ?? ''} to ${names[to]}`),
    setTimer: (timer, ms) => effects.push(`${timer} in ${ms}`),
    stopTimer: () => {},
    monitor: () => {},
    announce: ({ id, epoch }) => effects.push(`leader ${id ? names[id] : 'none'} ${epoch}`)
  })
  const members = (...ids) => new Map(ids.map((id) => [id, { id, priority: 0, eligible: true }]))
  bully.start(members(self, ...ids))
  return { bully, members, did: () => effects.splice(0) }
}

test('a member without others leads', () => {
  const { did } = start()
  assert.deepEqual(did(), ['announce in 1200', 'leader self 1'])
})

test('the highest member inquires the epoch before it leads', () => {
  const { bully, did } = start(low)
  assert.deepEqual(did(), ['inquiry  to low', 'answer in 200'])
  bully.receive(low, { kind: 'answer', epoch: 7n })
  assert.deepEqual(did(), ['announce in 1200', 'leader self 8', 'coordinator 8 to low'])
  bully.expire('announce')
  assert.deepEqual(did(), ['coordinator+ 8 to low', 'announce in 1200'])
})

test('a follower leads after a suspicion of the only member above', () => {
  const { bully, did } = start(low, high)
  assert.deepEqual(did(), ['election 0 to high', 'answer in 200'])
  bully.receive(high, { kind: 'answer', epoch: 4n })
  bully.receive(high, { kind: 'coordinator', epoch: 5n, leader: high })
  assert.deepEqual(did(), ['coordinator in 400', 'leader high 5'])
  bully.suspect(high)
  assert.deepEqual(did(), ['leader none 5', 'announce in 1200', 'leader self 6', 'coordinator 6 to low'])
})

test('a leader gives way to a higher one', () => {
  const { bully, members, did } = start()
  did()
  bully.reconfigure(members(self, high))
  bully.receive(high, { kind: 'coordinator', epoch: 1n, leader: high })
  assert.deepEqual(did(), ['leader high 1'])
})

test('an older coordinator is not followed', () => {
  const { bully, did } = start(low, high)
  bully.receive(high, { kind: 'coordinator', epoch: 5n, leader: high })
  did()
  bully.receive(high, { kind: 'coordinator', epoch: 4n, leader: high })
  assert.deepEqual(did(), ['coordinator 5 to high'])
})
