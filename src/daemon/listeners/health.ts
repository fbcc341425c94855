// Health checks for orchestrators: liveness (the process responds) and readiness (the store accepts writes and the daemon is not stopping).
import type { FastifyPluginAsync } from 'fastify'
import { within } from '../../lib/timer.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'

/** The caching time of the store check's result, ms. A negative result is cached only briefly, so that the store is checked again soon. */
const cacheMs = { ready: 5_000, notReady: 1_000 } as const
/** The timeout of the store check, ms. A store that does not respond within this time counts as not accepting writes. */
const timeoutMs = 5_000

export interface HealthOptions {
  /** Checks the store. Throws if it does not accept writes. */
  readonly proveWritable: () => Promise<void>
  /** Returns false if the store's files were removed or replaced. It is called for each health check, and is undefined if the store has no files. */
  readonly isInPlace?: (() => boolean) | undefined
  readonly stopping: () => boolean
  /** Returns the time of a monotonic clock, ms. */
  readonly now: () => number
  readonly log: Log
}

type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string }

/** Creates the health routes for all listeners, which share the cached result. */
export function createHealth(options: HealthOptions): FastifyPluginAsync {
  const { now, log } = options
  let last: { readonly at: number; readonly answer: Promise<Readiness> } | undefined
  /** How long the last result is cached, ms. */
  let cachedForMs: number = cacheMs.ready

  async function ask(): Promise<Readiness> {
    try {
      await within(timeoutMs, options.proveWritable(), () => {
        throw new Error(`no response within ${timeoutMs / 1000} s`)
      })
      cachedForMs = cacheMs.ready
      return { ready: true }
    } catch (error) {
      cachedForMs = cacheMs.notReady
      // The store's error message contains file and host names, so it is logged and not included in the response.
      log.warn({ cause: reasonOf(error) }, 'not ready: the store does not accept writes')
      return { ready: false, reason: 'The store does not accept writes.' }
    }
  }

  async function readiness(): Promise<Readiness> {
    if (options.stopping()) return { ready: false, reason: 'The daemon is stopping.' }
    if (options.isInPlace?.() === false) {
      return {
        ready: false,
        reason: 'The file of the store was removed or replaced: put it back, or restart the daemon.',
      }
    }
    if (last === undefined || now() - last.at >= cachedForMs) last = { at: now(), answer: ask() }
    return last.answer
  }

  return async app => {
    app.get('/healthz', async (_request, reply) =>
      reply.header('cache-control', 'no-store').send({ message: 'Alive.' }),
    )
    app.get('/readyz', async (_request, reply) => {
      const state = await readiness()
      return reply
        .code(state.ready ? 200 : 503)
        .header('cache-control', 'no-store')
        .send({ message: state.ready ? 'Ready.' : state.reason })
    })
  }
}
