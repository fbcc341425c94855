// The ingest tokens of the demo's backend, which enforces them. It implements the documented API of an observability instance in memory (the
// platform's REST document, "Pipeline telemetry export (observability instance)"). It also rotates these tokens with the shipped command, as a daily
// job would.
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { setTimeout as sleep } from 'node:timers/promises'
import { DaemonProcess, type DaemonProcessOptions } from './daemon-process.ts'

const base = '/api/v1/ingest_auth'

interface IngestToken {
  readonly id: number
  readonly name: string
  readonly value: string
  readonly createdAt: string
}

/** A response of the API. Without `body`, the response has no body. */
interface ApiAnswer {
  readonly status: number
  readonly body?: object
}

const creation = z.object({ name: z.string().min(1) })
const change = z.object({ enabled: z.boolean() })

export class IngestAuth {
  /** The API key that requests must contain. */
  readonly apiKey = randomBytes(18).toString('hex')
  #tokens: readonly IngestToken[] = []
  #last = 0
  #isEnforced = true

  accepts({ authorization }: IncomingHttpHeaders): boolean {
    return !this.#isEnforced || this.#tokens.some(({ value }) => authorization === `Bearer ${value}`)
  }

  /** Creates a token and returns its value. */
  create(name: string): string {
    return this.#add(name).value
  }

  /** Responds to an API request. Returns undefined if the path does not belong to this API. Throws if `body` is not JSON. */
  answer(method: string, path: string, headers: IncomingHttpHeaders, body: string): ApiAnswer | undefined {
    if (!path.startsWith(base)) return undefined
    if (headers['observability-api-key'] !== this.apiKey) return { status: 401, body: { error: 'invalid API key' } }
    const [, resource = '', id = ''] = path.slice(base.length).split('/')
    switch (`${method} ${resource}`) {
      case 'GET tokens':
        return {
          status: 200,
          body: this.#tokens.map(token => ({ id: token.id, name: token.name, created_at: token.createdAt })),
        }
      case 'POST tokens': {
        const { data } = creation.safeParse(JSON.parse(body))
        if (data === undefined) return { status: 400, body: { error: 'name is required' } }
        const { value, ...token } = this.#add(data.name)
        return { status: 201, body: { id: token.id, name: token.name, token: value } }
      }
      case 'DELETE tokens':
        return this.#revoke(id)
      case 'GET state':
        return { status: 200, body: { enabled: this.#isEnforced } }
      case 'PUT state': {
        const { data } = change.safeParse(JSON.parse(body))
        if (data === undefined) return { status: 400, body: { error: 'enabled must be a boolean' } }
        this.#isEnforced = data.enabled
        return { status: 200, body: data }
      }
      default:
        return { status: 404, body: { error: 'not found' } }
    }
  }

  #add(name: string): IngestToken {
    this.#last += 1
    const token = {
      id: this.#last,
      name,
      value: randomBytes(24).toString('hex'),
      createdAt: new Date().toISOString(),
    }
    this.#tokens = [...this.#tokens, token]
    return token
  }

  #revoke(id: string): ApiAnswer {
    const left = this.#tokens.filter(token => String(token.id) !== id)
    if (left.length === this.#tokens.length) return { status: 404, body: { error: 'token not found' } }
    if (this.#isEnforced && left.length === 0) return { status: 409, body: { error: 'this is the last valid token' } }
    this.#tokens = left
    return { status: 204 }
  }
}

interface RotationsOptions extends Omit<DaemonProcessOptions, 'args'> {
  /** The file from which the daemon reads its token. */
  readonly file: string
  /** Called with each line that the command prints. */
  readonly onLine: (line: string) => void
}

/** The time before the first rotation and between rotations, in ms. */
const firstAfter = 20_000
const every = 600_000

/** Starts the rotations. Returns a function that stops them. */
export function startRotations({ file, onLine, ...program }: RotationsOptions): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const args = ['tokens', 'rotate', '--name', 'pipespan', '--target', `file:${file}`, '--adopt', '--grace', '1m']
  const rotate = async (): Promise<void> => {
    const command = new DaemonProcess({ ...program, args })
    const stop = (): void => void command.stop()
    signal.addEventListener('abort', stop, { once: true })
    await command.exited
    signal.removeEventListener('abort', stop)
    if (!signal.aborted) command.lastLines.forEach(onLine)
  }
  const run = async (): Promise<void> => {
    for (let pause = firstAfter; await passed(pause, signal); pause = every) await rotate()
  }
  const running = run()
  return async () => {
    stopping.abort()
    await running
  }
}

/** Resolves to true after `ms`, or to false if `signal` is aborted first. */
async function passed(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false)
}
