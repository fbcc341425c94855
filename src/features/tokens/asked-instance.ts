// Asks the configured observability instance one question, with a connection of its own; and whether it enforces ingest tokens.
import { createIngestTokens } from './client.ts'
import { dispatcherFor } from '../../core/send/otlp-http.ts'
import { watchEnforcement, type Enforcement } from './watched-enforcement.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IngestTokens } from './ingest-tokens.ts'
import type { Proxies } from '../../core/send/destination.ts'
import type { TokenOptions } from './options.ts'

/** How long the instance may take to answer, ms. */
const timeoutMs = 10_000

export type AskInstance = <T>(question: (instance: IngestTokens) => Promise<T>) => Promise<T>

/** Undefined where no instance, or no key of it, is configured. */
export function instanceOf({ observability }: TokenOptions, proxies: Proxies): AskInstance | undefined {
  const { url, apiKey, caFile } = observability
  if (url === undefined || apiKey.current() === undefined) return undefined
  return async question => {
    const dispatcher = dispatcherFor(new URL(url), { timeoutMs, tls: { caFile } }, proxies, 1)
    try {
      return await question(createIngestTokens({ url, apiKey: () => apiKey.current(), dispatcher, timeoutMs }))
    } finally {
      await dispatcher.destroy()
    }
  }
}

/** For the page. Undefined as above. */
export function enforcementOf(options: TokenOptions, proxies: Proxies, clock: Clock): (() => Enforcement) | undefined {
  const ask = instanceOf(options, proxies)
  return ask && watchEnforcement(async () => ask(async instance => instance.enforcement()), clock)
}
