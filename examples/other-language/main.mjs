// It runs one member until SIGTERM or Ctrl-C. It prints a line of JSON for each leader:
// {"event":"leader","name":…,"epoch":…}.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { secretChannel } from './channel.mjs'
import { Member } from './member.mjs'

const { values } = parseArgs({
  options: {
    name: { type: 'string' },
    cluster: { type: 'string', default: 'elect' },
    listen: { type: 'string' },
    members: { type: 'string', multiple: true },
    join: { type: 'string', multiple: true },
    'data-dir': { type: 'string' },
    priority: { type: 'string', default: '0' },
    preset: { type: 'string', default: 'lan' },
    'secret-file': { type: 'string' }
  }
})

function stop (reason) {
  if (reason) console.error(reason)
  member.stop().finally(() => process.exit(reason ? 1 : 0))
}

const secretFile = values['secret-file']
const member = new Member({
  ...values,
  folder: values['data-dir'],
  secure: secretFile && secretChannel(readFileSync(secretFile, 'utf8'), values.cluster),
  priority: Number(values.priority),
  onLeader: (name, epoch) => {
    const event = { event: 'leader', name: name ?? undefined, epoch: Number(epoch), leads: name === values.name }
    console.log(JSON.stringify(event))
  },
  onStop: stop
})
process.on('SIGTERM', () => stop())
process.on('SIGINT', () => stop())
await member.start()
