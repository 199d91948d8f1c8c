// What a member with a quorum keeps on disk: one file of JSON, which is replaced as a whole.
import fs from 'node:fs'
import path from 'node:path'

export class Store {
  constructor (folder) {
    fs.mkdirSync(folder, { recursive: true })
    this.file = path.join(folder, 'state.json')
  }

  // load returns what was saved last, or undefined. BigInts are strings with an n behind.
  load () {
    if (!fs.existsSync(this.file)) return undefined
    return JSON.parse(fs.readFileSync(this.file, 'utf8'), (_, v) => typeof v === 'string' && /^\d+n$/.test(v) ? BigInt(v.slice(0, -1)) : v)
  }

  // save returns when the state is on the disk, not before: a message that depends on it leaves after that.
  save (state) {
    const text = JSON.stringify(state, (_, v) => typeof v === 'bigint' ? `${v}n` : v)
    if (text === this.saved) return
    const next = fs.openSync(`${this.file}.next`, 'w', 0o600)
    fs.writeSync(next, text)
    fs.fsyncSync(next)
    fs.closeSync(next)
    fs.renameSync(`${this.file}.next`, this.file)
    const folder = fs.openSync(path.dirname(this.file), 'r')
    fs.fsyncSync(folder)
    fs.closeSync(folder)
    this.saved = text
  }
}
