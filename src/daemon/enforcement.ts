// Asks the configured observability instance: whether it enforces ingest tokens, and for gauges of these tokens.
import { createIngestTokens } from '../features/tokens/client.ts'
import type { IngestTokens } from '../features/tokens/ingest-tokens.ts'
import { dispatcherFor } from '../core/send/otlp-http.ts'
import { watchEnforcement, type Enforcement } from '../features/tokens/watched-enforcement.ts'
import { proxiesOf } from './configuration/destinations.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from './configuration/options.ts'

/** How long the instance may take to answer, ms. */
const timeoutMs = 10_000

/** Undefined where no instance, or no key of it, is configured. */
export function enforcementOf(config: Config, clock: Clock): (() => Enforcement) | undefined {
  const ask = instanceOf(config)
  return ask && watchEnforcement(async () => ask(async instance => instance.enforcement()), clock)
}

type AskInstance = <T>(question: (instance: IngestTokens) => Promise<T>) => Promise<T>

/** One question to the observability instance, with a connection of its own. Undefined as above. */
export function instanceOf(config: Config): AskInstance | undefined {
  const { url, apiKey, caFile } = config.observability
  if (url === undefined || apiKey.current() === undefined) return undefined
  return async question => {
    const dispatcher = dispatcherFor(new URL(url), { timeoutMs, tls: { caFile } }, proxiesOf(config), 1)
    try {
      return await question(createIngestTokens({ url, apiKey: () => apiKey.current(), dispatcher, timeoutMs }))
    } finally {
      await dispatcher.destroy()
    }
  }
}
