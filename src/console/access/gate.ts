// Decides which requests to the admin listener are admitted.
//
// Without an admin token, requests to a loopback host name are admitted, unless a proxy forwards them for another machine. The host name is checked
// because any web site can point its own name at 127.0.0.1 (DNS rebinding). With an admin token, requests that send it as a bearer token are
// admitted.
import { after } from '../../lib/timer.ts'
import { createAttempts } from './attempts.ts'
import { isIP, type Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Millis } from '../../model/instant.ts'
import type { Secret } from '../../lib/secret.ts'

interface GateOptions {
  /** Returns the current admin token. Undefined if no token is set, so that the listener is open on loopback. */
  readonly token: () => Secret | undefined
  readonly now: () => Millis
}

/**
 * Why a request is rejected. `strange host`: no admin token is set, and the request either used a host name that is not a loopback name or came from
 * another machine. `too many`: the request had a wrong token after several other wrong tokens.
 */
export type Refused = 'strange host' | 'no token' | 'wrong token' | 'too many'
type Passed = 'loopback' | 'bearer'

export interface Gate {
  check(request: FastifyRequest): Promise<Passed | Refused>
  /** Compares the given token with the admin token. */
  compare(request: FastifyRequest, given: string): Promise<'right' | 'wrong token' | 'too many'>
  /** Ends the delays of all attempts whose token has not been checked yet. */
  close(): void
}

export function createGate({ token, now }: GateOptions): Gate {
  const attempts = createAttempts(now)
  const waiting = new WeakSet<Socket>()
  const closing = new AbortController()

  /**
   * Delays an attempt to authenticate before its token is checked. Returns false if another attempt on the same connection is already pending, or if
   * the connection or the listener closes.
   */
  async function mayTry(socket: Socket, ms: number): Promise<boolean> {
    if (waiting.has(socket)) return false
    waiting.add(socket)
    try {
      return await paused(socket, ms, closing.signal)
    } finally {
      waiting.delete(socket)
    }
  }

  async function compare(request: FastifyRequest, given: string): Promise<'right' | 'wrong token' | 'too many'> {
    const address = nearestOf(request)
    const pause = attempts.pause(address)
    // An attempt without a delay is compared and counted synchronously, so that pipelined attempts in the same packet cannot be checked before it is
    // counted.
    if (pause > 0 && !(await mayTry(request.raw.socket, pause))) return 'too many'
    if (token()?.equals(given) === true) return 'right'
    attempts.failed(address, given)
    return pause === 0 ? 'wrong token' : 'too many'
  }

  return {
    compare,
    close: () => closing.abort(),
    check: async request => {
      if (token() === undefined) return isFromHere(request.headers) ? 'loopback' : 'strange host'
      const bearer = bearerOf(request)
      if (bearer === undefined) return 'no token'
      const found = await compare(request, bearer)
      return found === 'right' ? 'bearer' : found
    },
  }
}

const wrongToken = [
  401,
  'The admin token (PIPESPAN_ADMIN_TOKEN) is missing or wrong; send it as a bearer token.',
  { 'www-authenticate': 'Bearer' },
] as const

/** The responses to rejected requests. `nobody` and `other host` result from checking a proxy's header, see `person.ts`. */
const refusals = {
  'strange host': [
    403,
    'Use a loopback host name (localhost, 127.0.0.1), or configure an admin token (PIPESPAN_ADMIN_TOKEN).',
    {},
  ],
  'no token': wrongToken,
  'wrong token': wrongToken,
  'too many': [
    429,
    'Too many wrong tokens from this address; wait a moment. The right token is always accepted.',
    { 'retry-after': '1' },
  ],
  nobody: [
    403,
    'No entry of admin.people matches the sender of this request, or the request did not come through a trusted proxy. Send it through the proxy, or use the admin token.',
    {},
  ],
  'other host': [403, 'This host name is not allowed. Add it to admin.hosts (PIPESPAN_ADMIN_HOSTS).', {}],
} as const satisfies Record<
  Refused | 'nobody' | 'other host',
  readonly [status: number, message: string, headers: object]
>

/** Responds to a program whose request is not admitted. */
export function refuse(reply: FastifyReply, why: keyof typeof refusals): FastifyReply {
  const [status, message, headers] = refusals[why]
  return reply.code(status).headers(headers).send({ message })
}

export function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

/** Waits for the delay. Returns false if the connection or the listener closes before the delay ends. */
async function paused(socket: Socket, ms: number, signal: AbortSignal): Promise<boolean> {
  if (socket.destroyed || signal.aborted) return false
  return new Promise(resolve => {
    const timer = after(
      ms,
      () => done(true),
      () => done(false),
    )
    const ended = (): void => done(false)
    socket.once('close', ended)
    signal.addEventListener('abort', ended)
    function done(whole: boolean): void {
      timer.stop()
      socket.off('close', ended)
      signal.removeEventListener('abort', ended)
      resolve(whole)
    }
  })
}

/** Returns the client's address. Behind a proxy, it is the last address in the proxy's header, because clients can forge the earlier ones. */
function nearestOf({ ip, ips }: FastifyRequest): string {
  return ips?.[1] ?? ip
}

/** Whether the request uses a loopback host name, and all client addresses that a proxy reports are local. */
function isFromHere(headers: FastifyRequest['headers']): boolean {
  const valuesOf = (name: string): string[] =>
    [headers[name] ?? []]
      .flat()
      .join(',')
      .split(',')
      .flatMap(one => one.trim() || [])
  const senders = [...valuesOf('x-forwarded-for'), ...valuesOf('x-real-ip')]
  const names = senders.map(address => (isIP(address) === 6 ? `[${address}]` : address))
  return (
    headers.forwarded === undefined && [headers.host, ...valuesOf('x-forwarded-host'), ...names].every(isLoopbackName)
  )
}

/** Returns the host name in lower case, without port and brackets; empty if the value is not a host. */
export function hostNameOf(host: string | undefined): string {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host ?? '') ?? []
  return (bracketed ?? plain ?? '').toLowerCase()
}

/** Whether the host is `localhost`, in `127.0.0.0/8`, or `[::1]`, with or without a port. */
export function isLoopbackName(host: string | undefined): boolean {
  const name = hostNameOf(host).replace(/^::ffff:(?=127\.)/, '')
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
