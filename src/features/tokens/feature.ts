// Manages the ingest tokens of the observability instance. The instance accepts telemetry with such a token, and people must replace the tokens from
// time to time without a gap. `pipespan tokens` lists, creates, revokes and rotates them; `pipespan enforcement` shows and sets whether telemetry
// without a token is dropped. A rotation writes a new token where the daemon reads it, waits until every daemon has reported that it uses it, and
// only then revokes the older ones. It may be killed at any point; the next run resumes it from a journal next to the target. Read `rotation.ts`
// first. The daemon itself only reports the tokens in use, and has three gauges, a condition that people may be notified about, and a page.
import { addTokenCommands } from './commands.ts'
import { createIngestTokens } from './client.ts'
import { createTokenReport } from './daemon-token-report.ts'
import { daemonReports } from './documents.ts'
import { feature, type Surroundings } from '../../daemon/feature.ts'
import { bearerTokensOf } from '../../core/send/destination.ts'
import { checkEnforcement, ingestGauges, ingestMetrics, instanceOf } from './asked-instance.ts'
import { requestsAnHour } from '../../model/inventory.ts'
import { systemClock } from '../../lib/clock.ts'
import { tokenOptions, type TokenOptions } from './options.ts'
import { watchExpiry } from './expiry.ts'
import type { Thing } from '../../platform/port/asking.ts'

/** The interval between two queries to the observability instance for the token gauges, ms. */
const gaugesIntervalMs = 600_000

/** The timeout of one request during the setup, ms. It is short because a person is waiting for the result. */
const setupTimeoutMs = 15_000

export const tokens = feature({
  name: 'tokens',
  options: tokenOptions,
  parts: [
    {
      why: 'this daemon no longer uses an ingest token',
      aroundSending: true,
      create: (_, { store, destinations, clock, log }) =>
        createTokenReport({
          ...{ reports: store.repositories.of(daemonReports), clock, log },
          tokens: () => destinations.flatMap(bearerTokensOf),
        }),
    },
  ],
  gauges: [{ switch: 'observability.api_key', metrics: ingestMetrics }],
  things,
  standing: (options, { proxies, clock, log }) => {
    const ask = instanceOf(options, proxies)
    const list = async () => ask?.(async instance => instance.list()) ?? []
    return ask && { kind: 'tokens', currentConditions: watchExpiry(list, { clock, log }) }
  },
  console: async (options, context) => (await import('./page.ts')).tokensConsole(options, context),
  commands: addTokenCommands,
  checks: [{ name: 'enforcement', run: checkEnforcement }],
  costs: (options, surroundings) => {
    const asked = things(options, surroundings)
    if (asked.length === 0) return []
    return [`Ingest tokens: ${requestsAnHour(asked)} requests an hour to the observability instance.`]
  },
  ingestTokens: ({ url, apiKey }) =>
    createIngestTokens({ url, apiKey: () => apiKey, timeoutMs: setupTimeoutMs, retryClock: systemClock }),
})

/** Reads the token gauges from the observability instance with two requests, if the instance is configured. */
function things(options: TokenOptions, { proxies }: Surroundings): readonly Thing[] {
  const ask = instanceOf(options, proxies)
  if (ask === undefined) return []
  const collect: Thing['collect'] = async () => ({ points: await ask(ingestGauges) })
  return [{ kind: 'ingest_tokens', of: options.observability.url ?? '', every: gaugesIntervalMs, atLeast: 2, collect }]
}
