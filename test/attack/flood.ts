// Strangers who hold connections to the webhook listener, as many as are asked for, and open each anew when it is closed: a process
// of its own, so that it takes no turns from the honest sender. It says `holding` once all are open; it ends when its parent does.
import { randomBytes, randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

export interface FloodOrder {
  readonly port: number
  readonly connections: number
  /** In turn, from connection to connection. */
  readonly kinds: readonly FloodKind[]
  /** Its own address; any of 127.0.0.0/8 is this machine's. */
  readonly localAddress: string
  /** How nice its process is; where it would otherwise take all of the daemon's processor time itself. */
  readonly nice?: number
  /** Each request comes from an address of its own, as a proxy would tell. */
  readonly forwarded?: boolean
}

export type FloodKind = keyof typeof kinds

export type FloodNews =
  | { readonly news: 'holding' }
  | {
      readonly news: 'figures'
      readonly opened: number
      readonly sent: number
      readonly answers: Record<string, number>
    }

const largest = 25 * 1024 * 1024
const chunk = Buffer.alloc(65_536, 'x')

const refusable = ['POST /webhooks', 'GET /', 'OPTIONS /webhooks']
const eight = [0, 1, 2, 0, 1, 2, 0, 1].map(at => `${refusable[at]} HTTP/1.1\r\nHost: a\r\n\r\n`).join('')
const pipelined = Buffer.from(eight.repeat(200))

let forwarded = false

/** The head of a delivery whose signature cannot be reported from a right one before the body is whole. */
function claimingHead(length = largest): string {
  const from = [...randomBytes(3)].join('.')
  return (
    'POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Service-Event: Pipeline Hook\r\n' +
    (forwarded ? `X-Forwarded-For: 10.${from}\r\n` : '') +
    `webhook-id: ${randomUUID()}\r\nwebhook-timestamp: ${Math.floor(Date.now() / 1000)}\r\n` +
    `webhook-signature: v1,${randomBytes(32).toString('base64')}\r\nContent-Length: ${length}\r\n\r\n`
  )
}

/** Sends bodies as fast as they are taken, one after the other for as long as the connection lives. */
function pouring(length: number): (socket: Socket) => Promise<void> {
  return async socket => {
    let left = 0
    while (!socket.destroyed) {
      if (left === 0) {
        send(socket, claimingHead(length))
        left = length
      }
      const piece = chunk.subarray(0, left)
      left -= piece.length
      if (!send(socket, piece)) await drained(socket)
    }
  }
}

const kinds = {
  /** Claims 25 MiB and sends none of it. */
  claims: socket => {
    send(socket, claimingHead())
  },
  /** Claims 25 MiB and sends a byte now and then. */
  dribbles: async socket => {
    send(socket, claimingHead())
    while (!socket.destroyed) {
      send(socket, 'x')
      await sleep(100)
    }
  },
  /** Claims 25 MiB, sends 1 MiB and waits. */
  stalls: socket => {
    send(socket, claimingHead())
    send(socket, Buffer.alloc(1_048_576, 'x'))
  },
  /** Claims 25 MiB and sends it as fast as it is taken, again and again. */
  pours: pouring(largest),
  'pours a megabyte': pouring(1_048_576),
  'pours as much as usual': pouring(25_000),
  /** Sends nothing at all. */
  idles: () => undefined,
  /** Asks for something that needs no secret, and keeps the connection. */
  lingers: socket => {
    send(socket, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
  },
  /** A header a second, never the last one. */
  drips: async socket => {
    send(socket, 'POST /webhooks HTTP/1.1\r\nHost: a\r\n')
    while (!socket.destroyed) {
      send(socket, `X-${Math.random()}: a\r\n`)
      await sleep(1_000)
    }
  },
  /** Says that it has no more to say, and keeps the connection. */
  'half closes': socket => {
    send(socket, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
    socket.end()
  },
  /** Hundreds of requests at once, all of which are refused, without waiting for an answer. */
  pipelines: async socket => {
    while (!socket.destroyed) if (!send(socket, pipelined)) await drained(socket)
  },
  /** The same, eight at a time, each eight once the last have been answered. */
  hurries: socket => {
    let answered = 0
    send(socket, eight)
    socket.on('data', (data: Buffer) => {
      for (let at = data.indexOf('HTTP/1.1'); at >= 0; at = data.indexOf('HTTP/1.1', at + 8)) answered += 1
      for (; answered >= 8; answered -= 8) send(socket, eight)
    })
  },
  /** Opens, claims and goes away at once. */
  comes: async socket => {
    send(socket, claimingHead())
    await sleep(20)
    socket.resetAndDestroy()
  },
} satisfies Record<string, (socket: Socket) => void | Promise<void>>

/** Those who come back at once when they are turned away. */
const hurried = new Set<FloodKind>(['comes', 'pours', 'pours a megabyte', 'pours as much as usual', 'pipelines'])

let opened = 0
let sent = 0
const answers: Record<string, number> = {}

function send(socket: Socket, what: string | Buffer): boolean {
  sent += what.length
  return socket.write(what)
}

function drained(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    socket.once('drain', go).once('close', go)
    function go(): void {
      socket.off('drain', go).off('close', go)
      resolve()
    }
  })
}

function hold(order: FloodOrder, kind: FloodKind): Promise<void> {
  return new Promise(resolve => {
    const { port, localAddress } = order
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
    let head = ''
    socket.on('connect', () => {
      opened += 1
      resolve()
      void kinds[kind](socket)
    })
    socket.on('data', (data: Buffer) => {
      if (head.length > 12) return
      head += data.toString('latin1', 0, 16)
      if (head.length <= 12) return
      const status = head.slice(9, 12)
      answers[status] = (answers[status] ?? 0) + 1
    })
    socket.on('end', () => socket.destroy())
    socket.on('error', () => undefined)
    // A little later: strangers that are turned away do not come back in the same instant.
    const again = async (): Promise<void> => {
      await sleep(hurried.has(kind) ? 10 : 250)
      await hold(order, kind)
      resolve()
    }
    socket.once('close', () => void again())
  })
}

process.on('message', (order: FloodOrder | 'figures') => {
  if (order === 'figures') process.send?.({ news: 'figures', opened, sent, answers } satisfies FloodNews)
  else void begin(order)
})
process.on('disconnect', () => process.exit(0))

async function begin(order: FloodOrder): Promise<void> {
  setPriority(order.nice ?? 0)
  forwarded = order.forwarded ?? false
  // As many at once as a listener has room for in its queue.
  const all = Array.from({ length: order.connections }, (_, at) => order.kinds[at % order.kinds.length] ?? 'idles')
  for (let at = 0; at < all.length; at += 100) {
    await Promise.all(all.slice(at, at + 100).map(kind => hold(order, kind)))
  }
  process.send?.({ news: 'holding' } satisfies FloodNews)
}
