// Closes a connection gracefully when a request is refused before its body was read.
//
// Closing a socket with unread input resets the connection, and the reset may overtake the answer. So the refusal is sent completely, and the
// rest of the body is read and discarded, as nginx does (`lingering_close`): until the sender has sent it all or closes. Many clients read no answer
// before that. What a sender may so cost is limited in connections, bytes and time; beyond it the connection is closed early.
import { setImmediate as later } from 'node:timers'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { after, every } from '../lib/timer.ts'
import type { ProvenPeers } from '../lib/proven-peers.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Bytes. Reading and discarding a smaller body is cheaper than a new connection. */
const small = 65_536

/** How much of a refused body is read, and for how long. */
interface Patience {
  readonly bytes: number
  readonly ms: number
  /** Ends it, too, ms: nothing arrived for as long as this, or at most twice as long. */
  readonly silentMs: number
}

export interface Lingering extends Patience {
  /** How many connections at a time: of senders that have shown the secret before, and of all others. Further ones get `hurried`. */
  readonly known: number
  readonly strangers: number
}

/** Twice the largest body that is accepted, and the time that Node allows for a whole request. */
const defaultLingering: Lingering = {
  ...{ known: 16, strangers: 4 },
  ...{ bytes: 64 * 1024 * 1024, ms: 20_000, silentMs: 1_000 },
}
/** Enough for senders that read the answer while they send. */
const hurried: Patience = { bytes: 262_144, ms: 1_000, silentMs: 1_000 }

export interface UnreadBodies {
  /** Returns the payload to send. Answers below 400 are left to Node, which reads the whole body and keeps the connection. */
  close(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown
  /** Nothing lingers any longer. */
  stop(): void
}

export function createUnreadBodies(peers: ProvenPeers, lingering: Lingering = defaultLingering): UnreadBodies {
  const taken = { known: 0, strangers: 0 }
  const stopping = new AbortController()

  async function* thenLinger(payload: string, { raw, ip }: FastifyRequest): AsyncGenerator<string> {
    const which = peers.knows(raw.socket, ip) ? 'known' : 'strangers'
    const isPatient = taken[which] < lingering[which]
    if (isPatient) taken[which] += 1
    try {
      // After this the whole answer is sent. Only the end of the stream, and with it of the connection, waits.
      yield payload
      await discard(raw, isPatient ? lingering : hurried, stopping.signal)
    } finally {
      if (isPatient) taken[which] -= 1
    }
  }

  return {
    close: (request, reply, payload) => {
      if (reply.statusCode < 400 || typeof payload !== 'string' || !isLargeAndUnread(request.raw)) return payload
      void reply.header('connection', 'close').header('content-length', Buffer.byteLength(payload))
      refused.add(request)
      return Readable.from(thenLinger(payload, request))
    },
    stop: () => stopping.abort(),
  }
}

const refused = new WeakSet<FastifyRequest>()

/**
 * Whether the request got such a refusal. For Fastify it is unanswered until the stream has ended. If the sender disconnects
 * meanwhile, Fastify would go on after the hook that refused it, and run the route.
 */
export function wasRefusedUnread(request: FastifyRequest): boolean {
  return refused.has(request)
}

function isLargeAndUnread(message: IncomingMessage): boolean {
  if (message.complete) return false
  const { 'transfer-encoding': encoding, 'content-length': length } = message.headers
  return encoding !== undefined || Number(length ?? 0) > small
}

function discard(message: IncomingMessage, timeoutMs: Patience, stopping: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    let bytes = 0
    let before = 0
    let isOver = false
    const limit = after(timeoutMs.ms, finish, finish)
    const silence = every(timeoutMs.silentMs, notice, finish)
    stopping.addEventListener('abort', finish)
    message.on('data', count).once('end', finish).once('close', finish).once('error', finish).resume()
    if (message.destroyed || message.readableEnded || stopping.aborted) finish()
    function count(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes > timeoutMs.bytes) finish()
      if (isOver) return
      // One piece in each turn of the event loop: new connections and deliveries come in between.
      message.pause()
      later(() => isOver || message.resume())
    }
    function notice(): void {
      if (bytes === before) finish()
      before = bytes
    }
    function finish(): void {
      isOver = true
      limit.stop()
      silence.stop()
      stopping.removeEventListener('abort', finish)
      message.off('data', count).pause()
      resolve()
    }
  })
}
