// Connects the watch over enforcement with the observability instance of the configuration.
import { createIngestTokens } from '../tokens/client.ts'
import { dispatcherFor } from '../export/otlp-http.ts'
import { watchEnforcement, type Enforcement } from '../tokens/watched-enforcement.ts'
import type { Clock } from '../lib/clock.ts'
import type { Config } from '../config/options.ts'

/** How long the instance may take to answer, ms. */
const timeoutMs = 10_000

/** Undefined where no instance, or no key of it, is configured. */
export function enforcementOf(config: Config, clock: Clock): (() => Enforcement) | undefined {
  const { url, apiKey, caFile } = config.observability
  if (url === undefined || apiKey.current() === undefined) return undefined
  const { httpProxy, httpsProxy, noProxy } = config
  const proxies = { http: httpProxy?.reveal(), https: httpsProxy?.reveal(), no: noProxy?.join(',') }
  return watchEnforcement(async () => {
    const dispatcher = dispatcherFor(new URL(url), { timeoutMs, tls: { caFile } }, proxies, 1)
    try {
      return await createIngestTokens({ url, apiKey: () => apiKey.current(), dispatcher, timeoutMs }).enforcement()
    } finally {
      await dispatcher.destroy()
    }
  }, clock)
}
