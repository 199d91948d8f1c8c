// It runs one member until SIGTERM or Ctrl-C. It prints a line of JSON for each leader: {"event":"leader","name":…,"epoch":…}.
import { parseArgs } from 'node:util'
import { Member } from './member.mjs'

const { values } = parseArgs({
  options: {
    name: { type: 'string' },
    cluster: { type: 'string', default: 'elect' },
    listen: { type: 'string' },
    members: { type: 'string', multiple: true },
    priority: { type: 'string', default: '0' },
    preset: { type: 'string', default: 'lan' }
  }
})

function stop (reason) {
  if (reason) console.error(reason)
  member.stop().finally(() => process.exit(reason ? 1 : 0))
}

const member = new Member({
  ...values,
  priority: Number(values.priority),
  onLeader: (name, epoch) => console.log(JSON.stringify({ event: 'leader', name: name ?? undefined, epoch: Number(epoch), leads: name === values.name })),
  onStop: stop
})
process.on('SIGTERM', () => stop())
process.on('SIGINT', () => stop())
await member.start()
