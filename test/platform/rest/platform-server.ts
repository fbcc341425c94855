// A platform for tests: an HTTP server that responds as instructed and records its requests.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { createPlatformClient, type PlatformClientOptions, type RestClient } from '../../../src/platform/rest/client.ts'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../src/lib/clock.ts'

export interface Asked {
  /** The path and query of the request, as received. */
  readonly url: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
}

export type Reply = (asked: Asked, response: ServerResponse) => void

export interface PlatformServer extends AsyncDisposable {
  readonly url: string
  readonly asked: Asked[]
  /** The reply that is sent to the next request and to all later requests. */
  reply: Reply
}

export async function startPlatform(reply: Reply): Promise<PlatformServer> {
  const asked: Asked[] = []
  const listener: RequestListener = (request, response) => {
    const url = request.url ?? ''
    const [path = '', query = ''] = url.split('?')
    const one = { url, path, query: new URLSearchParams(query), headers: request.headers }
    asked.push(one)
    server.reply(one, response)
  }
  // The keep-alive timeout is longer than any client keeps a connection open, so that no client sends a request on a connection that is being closed.
  const http = createServer({ keepAliveTimeout: 300_000 }, listener)
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  const server: PlatformServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    asked,
    reply,
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections()
      await new Promise(resolve => http.close(resolve))
    },
  }
  return server
}

/** Sends the replies one after another, and the last reply to all further requests. */
export function inTurn(...replies: Reply[]): Reply {
  let turn = 0
  return (asked, response) => replies[Math.min(turn++, replies.length - 1)]?.(asked, response)
}

export function json(value: unknown, headers: Record<string, string> = {}): Reply {
  return answer(200, JSON.stringify(value), { 'content-type': 'application/json', ...headers })
}

export function answer(status: number, body: string, headers: Record<string, string> = {}): Reply {
  return (_asked, response) => {
    response.writeHead(status, headers).end(body)
  }
}

export function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../fixtures/api/${name}`, import.meta.url), 'utf8'))
}

/** Returns a clock on which sleeping takes no real time: it records each sleep and jumps forward. */
export function leapingClock(): Clock & { readonly slept: number[] } {
  let now = Date.UTC(2025, 2, 11)
  const slept: number[] = []
  return {
    slept,
    now: () => now,
    sleep: async (ms, signal) => {
      if (signal?.aborted === true) return
      slept.push(ms)
      now += ms
      await new Promise(resolve => setImmediate(resolve))
    },
  }
}

export const token = 'pat-4f9d-very+secret/token'

export interface TestClient extends AsyncDisposable {
  readonly client: RestClient
  readonly clock: ReturnType<typeof leapingClock>
  /** All lines that the client has logged. */
  readonly logged: string[]
}

/** Creates a client for the platform at `url`, with its own clock. */
export function clientOf(url: string, options: Partial<PlatformClientOptions> = {}): TestClient {
  const clock = leapingClock()
  const logged: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
  const client = createPlatformClient({
    url,
    token: () => token,
    tokenType: 'private',
    budget: createInMemoryBudget({ perMinute: 6_000 }, clock),
    concurrency: 4,
    userAgent: 'Pipespan/test',
    clock,
    log,
    ...options,
  })
  return { client, clock, logged, [Symbol.asyncDispose]: () => client.close() }
}

/** Returns the error with which a call rejects. Throws if the call does not reject. */
export async function rejection(call: Promise<unknown>): Promise<Error> {
  try {
    await call
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
  throw new Error('The call was expected to fail.')
}

export const poll = { priority: 'poll' } as const
