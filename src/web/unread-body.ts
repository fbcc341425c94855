// How a connection ends well when a request is refused before its body was read.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { after } from '../lib/timer.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A body of this size is cheaper read and thrown away than a connection opened anew, bytes. */
const small = 65_536
/** What is read of a larger one while the refusal is on its way to the sender: at most this much, for at most this long. */
const lingering = { bytes: 262_144, ms: 1_000 }

/**
 * Closing a socket with unread input resets it, and a reset may overtake the answer. So the refusal goes out whole, and the
 * connection is closed a little later: when the sender closes, or has sent too much more. Anything below 400 is left to
 * Node, which reads the body to its end and keeps the connection: a sender that is served must not see it break.
 * Returns the payload to send.
 */
export function closeWhatIsUnread(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (reply.statusCode < 400 || typeof payload !== 'string' || !isLargeAndUnread(request.raw)) return payload
  void reply.header('connection', 'close').header('content-length', Buffer.byteLength(payload))
  refused.add(request)
  return Readable.from(thenLinger(payload, request.raw))
}

const refused = new WeakSet<FastifyRequest>()

/**
 * Whether the request got such a refusal. To fastify it is not answered until its stream has ended, and a sender that goes away
 * meanwhile would have it run what comes behind the hook that refused: the route itself.
 */
export function wasRefusedUnread(request: FastifyRequest): boolean {
  return refused.has(request)
}

function isLargeAndUnread(message: IncomingMessage): boolean {
  if (message.complete) return false
  const { 'transfer-encoding': encoding, 'content-length': length } = message.headers
  return encoding !== undefined || Number(length ?? 0) > small
}

async function* thenLinger(payload: string, message: IncomingMessage): AsyncGenerator<string> {
  // The whole answer is out after this; only the end of the stream, and so of the connection, waits.
  yield payload
  await discard(message)
}

function discard(message: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    let bytes = 0
    const timer = after(lingering.ms, finish, finish)
    message.on('data', count).once('end', finish).once('close', finish).once('error', finish).resume()
    if (message.destroyed || message.readableEnded) finish()
    function count(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes > lingering.bytes) finish()
    }
    function finish(): void {
      timer.stop()
      message.off('data', count).pause()
      resolve()
    }
  })
}
