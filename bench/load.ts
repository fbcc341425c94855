// Sends POST requests over keep-alive connections, one request at a time on each. Sending is cheap enough that the server is the bottleneck.
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Template } from './payload.ts'

/** A webhook to send. */
export interface Hook {
  readonly event: 'Pipeline Hook' | 'Job Hook'
  readonly template: Template
  /** The number of the pipeline that the webhook is about. */
  readonly pipeline: number
  /** True if this is the last webhook of its pipeline. */
  readonly isFinish: boolean
}

export interface LoadOptions {
  /** The ports of the servers, over which the connections are distributed. */
  readonly ports: readonly number[]
  readonly connections?: number
  /** Returns the next webhook, or undefined if there is none yet; the caller then tries again shortly afterwards. */
  readonly next: () => Hook | undefined
  /** Stops the load. Requests in flight are completed. */
  readonly signal: AbortSignal
}

/** A running load, with counts that are updated while it runs. */
export interface Load {
  readonly counts: { sent: number; accepted: number; finishes: number; refused: number }
  /** Resolves once the load has been stopped by its signal. Rejects if a connection breaks. */
  readonly ended: Promise<void>
}

export const token = 'only-for-this-benchmark'
/** Number of connections that a busy platform keeps open. */
const defaultConnections = 32

export function load({ ports, connections = defaultConnections, next, signal }: LoadOptions): Load {
  const counts = { sent: 0, accepted: 0, finishes: 0, refused: 0 }
  const one = async (port: number): Promise<void> => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('the server closed a connection')))
      let hook: Hook | undefined
      let answer = ''
      const proceed = (): void => {
        if (signal.aborted) {
          socket.removeAllListeners('close').end()
          resolve()
          return
        }
        hook = next()
        if (hook === undefined) {
          setTimeout(proceed, 2)
          return
        }
        send(socket, hook)
        counts.sent += 1
      }
      socket.on('data', (chunk: Buffer) => {
        answer += chunk.toString('latin1')
        const head = answer.indexOf('\r\n\r\n')
        if (head === -1) return
        const length = Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0)
        if (answer.length < head + 4 + length) return
        if (answer.startsWith('HTTP/1.1 202')) {
          counts.accepted += 1
          if (hook?.isFinish === true) counts.finishes += 1
        } else counts.refused += 1
        answer = ''
        proceed()
      })
      proceed()
    })
  }
  const ended = Promise.all(Array.from({ length: connections }, async (_, at) => one(ports[at % ports.length] ?? 0)))
  return { counts, ended: ended.then(() => undefined) }
}

/** The number of requests per second to which a server responds, measured after a warm-up. */
export async function answeredPerSecond(
  options: Omit<LoadOptions, 'signal'> & { readonly warmMs: number; readonly forMs: number },
): Promise<number> {
  const end = new AbortController()
  const { counts, ended } = load({ ...options, signal: end.signal })
  // If a connection breaks, the warm-up ends at once.
  await Promise.race([ended, sleep(options.warmMs)])
  const [before, began] = [counts.accepted, performance.now()]
  await Promise.race([ended, sleep(options.forMs)])
  const perSecond = ((counts.accepted - before) * 1000) / (performance.now() - began)
  end.abort()
  await ended
  if (counts.refused > 0) throw new Error(`${counts.refused} of ${counts.sent} webhooks were refused`)
  return perSecond
}

function send(socket: Socket, { event, template, pipeline }: Hook): void {
  const body = template.body(pipeline)
  const head =
    `POST /webhooks HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n` +
    `x-service-event: ${event}\r\nx-service-token: ${token}\r\nx-service-instance: https://git.example.com\r\n` +
    `idempotency-key: ${deliveryKey()}\r\n\r\n`
  socket.cork()
  socket.write(head, 'latin1')
  socket.write(body)
  socket.uncork()
}

const run = Math.floor(Math.random() * 2 ** 32)
let deliveries = 0

/** Returns a new delivery key each time. Its first characters are as random as those of a UUID, so that keys arrive in no particular order. */
export function deliveryKey(): string {
  deliveries += 1
  const scattered = (Math.imul(deliveries + run, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')
  return `${scattered}-5b8a-4c7e-9d3f-${(run * 2 ** 16 + deliveries).toString(16).padStart(12, '0').slice(-12)}`
}
