// Whether the observability instance drops telemetry without a token, as it was last told: part of the composition root.
// Nobody waits for the instance: whoever asks gets what is known, and what is old is asked for anew meanwhile.
import { createIngestTokens } from '../tokens/client.ts'
import { dispatcherFor } from '../export/otlp-http.ts'
import type { Dispatcher } from 'undici'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'

/** `unknown`: not asked yet, or it did not answer. */
export type Enforcement = 'on' | 'off' | 'unknown'

/** How long an answer is believed, and how long one may take, ms. */
const believed = 60_000
const patience = 10_000

/** Undefined where no instance, or no key of it, is configured. */
export function watchEnforcement(config: Config, clock: Clock): (() => Enforcement) | undefined {
  const { url, apiKey, caFile } = config.observability
  if (url === undefined || apiKey.current() === undefined) return undefined
  const { httpProxy, httpsProxy, noProxy } = config
  const proxies = { http: httpProxy?.reveal(), https: httpsProxy?.reveal(), no: noProxy?.join(',') }
  let known: Enforcement = 'unknown'
  let askedAt = -Infinity

  /** Never rejects: nobody waits for it. */
  async function ask(instance: string): Promise<Enforcement> {
    let dispatcher: Dispatcher | undefined
    try {
      dispatcher = dispatcherFor(new URL(instance), { timeoutMs: patience, tls: { caFile } }, proxies, 1)
      const of = { url: instance, apiKey: () => apiKey.current(), dispatcher, timeoutMs: patience }
      return (await createIngestTokens(of).enforcement()) ? 'on' : 'off'
    } catch {
      return 'unknown'
    } finally {
      await dispatcher?.destroy()
    }
  }

  return () => {
    if (elapsed(clock) - askedAt >= believed) {
      askedAt = elapsed(clock)
      void ask(url).then(told => {
        known = told
      })
    }
    return known
  }
}
