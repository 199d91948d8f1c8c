// The safe channel of docs/protocol.md, for a cluster with a secret: TLS 1.3, and in it a proof of the secret that is
// bound to the channel.
import { generateKeyPairSync, randomBytes, sign, timingSafeEqual } from 'node:crypto'
import tls from 'node:tls'
import { parseSecret, proof } from './hashes.mjs'

const REFUSED = 0
const PROVED = 2
const PROOF_LENGTH = 32
const REJECT_LINGER = 250 // ms for the reason of a rejection to arrive
const NOT_PROVED = 'it has not proved a secret that is believed here, for this cluster'

// secretChannel returns a function that makes a socket a safe channel, or throws. The text is that of a secret file:
// the first secret is used, all are accepted.
export function secretChannel (text, cluster) {
  const secrets = text.split('\n').map((line) => line.replace(/#.*/, '').trim()).filter(Boolean).map(parseSecret)
  const options = {
    ...selfSigned(), minVersion: 'TLSv1.3', ALPNProtocols: ['elect'], ecdhCurve: 'X25519:P-256',
    requestCert: true, rejectUnauthorized: false // the secret is what counts, and not the certificate
  }
  const proves = (secret, given, role, material) => timingSafeEqual(given, proof(secret, role, cluster, material))

  return async (socket, isDialer, timeout) => {
    const timer = setTimeout(() => socket.destroy(), timeout)
    try {
      const channel = isDialer ? tls.connect({ ...options, socket }) : new tls.TLSSocket(socket, { ...options, isServer: true })
      channel.on('error', () => {}) // the next step fails
      await once(channel, isDialer ? 'secureConnect' : 'secure')
      const material = channel.exportKeyingMaterial(PROOF_LENGTH, 'EXPORTER-Channel-Binding', Buffer.alloc(0))
      if (isDialer) channel.write(Buffer.concat([Buffer.of(PROVED), proof(secrets[0], 'client', cluster, material)]))
      const given = await readProof(channel)
      const secret = secrets.find((s) => given && proves(s, given, isDialer ? 'server' : 'client', material))
      if (!secret) {
        if (!isDialer) channel.end(Buffer.concat([Buffer.of(REFUSED, NOT_PROVED.length), Buffer.from(NOT_PROVED)]))
        throw new Error('the other side has not proved the secret')
      }
      if (!isDialer) channel.write(Buffer.concat([Buffer.of(PROVED), proof(secret, 'server', cluster, material)]))
      return channel
    } catch (error) {
      setTimeout(() => socket.destroy(), REJECT_LINGER)
      throw error
    } finally { clearTimeout(timer) }
  }
}

// readProof returns the proof that the other side sends, or undefined if it sends none.
async function readProof (channel) {
  const [what] = await readExactly(channel, 1)
  return what === PROVED ? readExactly(channel, PROOF_LENGTH) : undefined
}

// readExactly leaves what comes after the bytes for the next reader.
async function readExactly (channel, length) {
  for (;;) {
    const bytes = channel.read(length)
    if (bytes) return bytes
    await once(channel, 'readable')
  }
}

// once waits for an event. The end of the channel is an error: the process at the other end may be ending.
function once (channel, event) {
  return new Promise((resolve, reject) => {
    const ends = ['error', 'close', 'end']
    const stop = () => ends.forEach((end) => channel.off(end, fail))
    const fail = (error) => {
      stop()
      reject(Object.assign(error ?? new Error('closed'), { result: 'broken' }))
    }
    ends.forEach((end) => channel.on(end, fail))
    channel.once(event, () => { stop(); resolve() })
  })
}

// selfSigned returns a key and a certificate that this process has made for itself. No node looks at it.
function selfSigned () {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = (tag, ...parts) => {
    const body = Buffer.concat(parts)
    const size = body.length < 256 ? [body.length] : [body.length >> 8, body.length & 0xff]
    return Buffer.concat([Buffer.from([tag, ...(body.length < 128 ? [] : [0x80 | size.length]), ...size]), body])
  }
  const sequence = (...parts) => der(0x30, ...parts)
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
  const name = sequence(der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from('elect')))))
  const validity = sequence(der(0x17, Buffer.from('000101000000Z')), der(0x17, Buffer.from('491231235959Z')))
  const serial = der(0x02, Buffer.of(1), randomBytes(8))
  const content = sequence(serial, ecdsaWithSha256, name, validity, name, publicKey.export({ type: 'spki', format: 'der' }))
  const signature = der(0x03, Buffer.of(0), sign('sha256', content, privateKey))
  const base64 = sequence(content, ecdsaWithSha256, signature).toString('base64')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.match(/.{1,64}/g).join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' })
  }
}
