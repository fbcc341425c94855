// Closes a connection gracefully when a request is refused before its body was read.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { after } from '../lib/timer.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Bytes. Reading and discarding a smaller body is cheaper than a new connection. */
const small = 65_536
/** How much of a larger body is read, and for how long, while the refusal is sent. */
const lingering = { bytes: 262_144, ms: 1_000 }

/**
 * Closing a socket with unread input resets the connection, and the reset may overtake the answer. So the refusal is sent
 * completely, and the connection is closed a little later: when the sender closes it, or has sent too much more. Answers below
 * 400 are left to Node, which reads the whole body and keeps the connection. Returns the payload to send.
 */
export function closeWhatIsUnread(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (reply.statusCode < 400 || typeof payload !== 'string' || !isLargeAndUnread(request.raw)) return payload
  void reply.header('connection', 'close').header('content-length', Buffer.byteLength(payload))
  refused.add(request)
  return Readable.from(thenLinger(payload, request.raw))
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

async function* thenLinger(payload: string, message: IncomingMessage): AsyncGenerator<string> {
  // After this the whole answer is sent. Only the end of the stream, and with it of the connection, waits.
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
